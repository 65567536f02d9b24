// The blocks of a prompt as parts of a brief. Text and links become the task, embedded resources the context. A task that is too long becomes a file
// of the workspace, where the agent can read all of it.
import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Image } from '../contract/image.ts';
import { maxTaskBytes } from '../contract/task-size.ts';
import { RpcError, rpcCodes } from '../system/rpc-error.ts';
import type { PromptBlock } from './protocol.ts';

const maxContextChars = 262_144;

export interface PromptContent {
  task: string;
  context: string | null;
  /** Texts that are too long for the message, as files. */
  files: { name: string; text: string }[];
  /** The text mentions them as `[image 1]`. */
  images: Image[];
}

/** Throws an RpcError for content that a model of Retinue cannot get. */
export function parsePrompt(blocks: PromptBlock[], workspace: string): PromptContent {
  const texts: string[] = [];
  const contexts: string[] = [];
  const files: PromptContent['files'] = [];
  const images: Image[] = [];
  let contextChars = 0;
  for (const block of blocks) {
    if (block.type === 'text') texts.push(block.text);
    else if (block.type === 'resource_link') texts.push(`[${block.name}](${nameResource(block.uri, workspace)})`);
    else if (block.type === 'resource') {
      const name = nameResource(block.resource.uri, workspace);
      const text = readResource(block.resource);
      texts.push(`[${name}]`);
      contextChars += text.length;
      if (contextChars <= maxContextChars) contexts.push(renderResource(name, text));
      else files.push({ name: name.split('/').at(-1) || 'resource', text });
    } else if (block.type === 'image') {
      images.push(readImage(block));
      texts.push(`[image ${images.length}]`);
    } else
      throw new RpcError(
        rpcCodes.invalidParams,
        'the prompt contains audio, which Retinue cannot pass on to a model; name a file of the workspace instead',
      );
  }
  const task = texts.join('').trim();
  if (task === '') throw new RpcError(rpcCodes.invalidParams, 'the prompt is empty');
  const context = contexts.length === 0 ? null : contexts.join('\n\n');
  if (Buffer.byteLength(task) <= maxTaskBytes) return { task, context, files, images };
  return { task: 'Do what the attached file prompt.txt says.', context, files: [{ name: 'prompt.txt', text: task }, ...files], images };
}

/** Everything but the images as one text, for a run that has started already. */
export function promptToMessage({ task, context, files }: PromptContent): string {
  const parts = [...(context === null ? [] : [context]), ...files.map(({ name, text }) => renderResource(name, text))];
  return [task, ...parts].join('\n\n');
}

function readImage({ data, mimeType }: { data: string; mimeType: string }): Image {
  const image = Image.safeParse({ data, mediaType: mimeType });
  if (image.success) return image.data;
  throw new RpcError(rpcCodes.invalidParams, `the image (${mimeType.slice(0, 100)}) cannot be used: it ${image.error.issues[0]?.message}`);
}

/** A path relative to the workspace for a file in it; otherwise the address. */
function nameResource(uri: string, workspace: string): string {
  if (!uri.startsWith('file:')) return uri;
  try {
    const url = new URL(uri);
    // Editors add the lines that are meant, such as `#L10:20`.
    const lines = url.hash;
    url.hash = '';
    url.search = '';
    const path = relative(workspace, fileURLToPath(url));
    return path === '' || path.startsWith('..') || isAbsolute(path) ? uri : path + lines;
  } catch {
    return uri;
  }
}

function readResource(resource: { uri: string; mimeType?: string | null | undefined } & ({ text: string } | { blob: string })): string {
  if ('text' in resource) return resource.text;
  const bytes = Buffer.from(resource.blob, 'base64');
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // It is not text.
  }
  throw new RpcError(rpcCodes.invalidParams, `the resource ${resource.uri.slice(0, 500)} is binary; only text can be given to an agent`);
}

/** The fence is longer than any in the text, so that the text cannot close it. */
function renderResource(name: string, text: string): string {
  const ticks = '`'.repeat(Math.max(3, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length + 1)));
  return `## ${name.replace(/\s+/g, ' ')}\n${ticks}\n${text}\n${ticks}`;
}
