/** A skill: a folder with instructions that a model loads when it needs them. */
export interface Skill {
  name: string;
  /** One line. */
  description: string;
  /** Where it comes from, for messages: a path of the workspace, or an absolute one. */
  source: string;
  /** The folder: relative to the workspace, so that each run reads its own copy, or an absolute real path. */
  folder: string;
  isInWorkspace: boolean;
}
