// Images that come with a brief. Their data are blobs of `run.created`. When the run starts they become a message of its pinned history, so that
// requests, replay and follow-ups contain them like the rest of a conversation.
import type { LanguageModelV4Message } from '@ai-sdk/provider';
import { RetinueError } from '../../contract/error.ts';
import { type Image, Images, type StoredImage } from '../../contract/image.ts';
import type { Store } from '../../ports/store.ts';
import { sha256 } from '../../text/canonical.ts';
import type { Admission } from './admission.ts';

/** Throws `invalid_brief`. */
export function addImages(admission: Admission, given: readonly Image[] = []): Admission {
  if (given.length === 0) return admission;
  if (admission.created.external)
    throw new RetinueError(
      'invalid_brief',
      `agent ${admission.created.agent} runs an external program, which gets no images; name a file instead`,
    );
  const parsed = Images.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const [index] = issue?.path ?? [];
    const which = typeof index === 'number' ? `image ${index + 1}` : 'the images';
    throw new RetinueError('invalid_brief', `${which}: ${issue?.message}`);
  }
  const blobs = parsed.data.map(({ data }) => ({ hash: sha256(data), content: data }));
  const images = parsed.data.map(({ mediaType }, i) => ({ blob: (blobs[i] as { hash: string }).hash, mediaType }));
  return { ...admission, created: { ...admission.created, images }, blobs: [...admission.blobs, ...blobs] };
}

/** One message with all images; empty without images. Rejects with `store_corrupt` if one is missing or was changed. */
export async function loadImageMessages(
  images: readonly StoredImage[] = [],
  store: Pick<Store, 'blob'>,
): Promise<LanguageModelV4Message[]> {
  if (images.length === 0) return [];
  const content = await Promise.all(
    images.map(async ({ blob, mediaType }) => {
      const data = await store.blob(blob);
      if (typeof data !== 'string' || sha256(data) !== blob)
        throw new RetinueError('store_corrupt', `an image of a brief is missing or was changed (${blob})`);
      return { data: { data, type: 'data' as const }, mediaType, type: 'file' as const };
    }),
  );
  return [{ content, role: 'user' }];
}
