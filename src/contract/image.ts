import { z } from 'zod';
import { Hash } from './ids.ts';

/** The formats that all providers with image input accept. */
const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

/** Providers refuse larger images. In characters of base64. */
const maxImageChars = 5_242_880;
/** All images of a brief together: they are sent with every request of the conversation. */
const maxTotalChars = 12_582_912;

/** An image that comes with a brief. `data` is base64. */
export const Image = z.strictObject({
  mediaType: z.enum(imageTypes, `must be ${imageTypes.join(', ')}`),
  data: z.string().max(maxImageChars, `is larger than ${maxImageChars} characters of base64`).refine(isBase64, 'is not base64'),
});
export type Image = z.infer<typeof Image>;

export const Images = z
  .array(Image)
  .max(20, 'at most 20 images are possible')
  .refine(
    (images) => images.reduce((sum, { data }) => sum + data.length, 0) <= maxTotalChars,
    `together they are larger than ${maxTotalChars} characters of base64`,
  );

/** A recorded image: its base64 text is a blob. */
export const StoredImage = z.strictObject({ mediaType: z.string(), blob: Hash });
export type StoredImage = z.infer<typeof StoredImage>;

/** Without a pattern over the whole text, which takes too much memory for a long one. */
function isBase64(text: string): boolean {
  return (
    text.length > 0 &&
    text.length % 4 === 0 &&
    !/[^A-Za-z0-9+/]/.test(text.slice(0, -2)) &&
    /^[A-Za-z0-9+/]{2}$|^[A-Za-z0-9+/]=$|^==$/.test(text.slice(-2))
  );
}
