/** The tool that submits a structured result. */
export const submitTool = 'submit_result';
