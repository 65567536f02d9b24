// Delegation for your own agent: the tools of a scope in the AI SDK's ToolLoopAgent. Nothing outlives the scope.
import { ToolLoopAgent } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createRetinue } from 'retinue';
import { scriptedModel } from 'retinue/testing';

const retinue = createRetinue({ model: scriptedModel({ runs: [{ times: 'any', steps: [{ text: 'the tests are green' }] }] }) });
const scope = retinue.scope();

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const call = {
  type: 'tool-call' as const,
  toolCallId: '1',
  toolName: 'delegate',
  input: JSON.stringify({ tasks: [{ task: 'run the tests' }] }),
};
const mine = new MockLanguageModelV4({
  doGenerate: [
    { content: [call], finishReason: { unified: 'tool-calls', raw: 'tool_use' }, usage, warnings: [] },
    { content: [{ type: 'text', text: 'My helper says they pass.' }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] },
  ],
});
const agent = new ToolLoopAgent({ model: mine, tools: { ...scope.tools() } });
const { text, steps } = await agent.generate({ prompt: 'Are the tests green?' });
const [result] = steps[0]?.toolResults ?? [];
console.log(
  String(result?.output)
    .split('\n')[0]
    ?.replace(/run [0-9a-f]{16}/, 'run …'),
);
console.log(text);
await scope.close();
await retinue.close();
