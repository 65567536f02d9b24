import { z } from 'zod';

/** How long a provider keeps its cache of a conversation, where it offers a choice. `auto`: minutes, and an hour once a run has waited longer than that. */
export const PromptCache = z.enum(['auto', '5m', '1h']);
export type PromptCache = z.infer<typeof PromptCache>;
