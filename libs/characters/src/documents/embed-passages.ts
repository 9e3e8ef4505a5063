import { PlatformError } from '#common';

/** Returns a vector for each text. Rejects with `TOO_MANY_TOKENS` if the model does not read one of them whole. */
export type EmbedTexts = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** Texts of one call, few enough for a job and for progress in between. */
const textsAtOnce = 32;

/** Returns a vector for each passage. Rejects as `embed` does. */
export async function embedPassages(texts: readonly string[], embed: EmbedTexts): Promise<(readonly number[])[]> {
  const vectors: (readonly number[])[] = [];
  for (let at = 0; at < texts.length; at += textsAtOnce) {
    vectors.push(...(await embedFitting(texts.slice(at, at + textsAtOnce), embed)));
  }
  return vectors;
}

/** A passage of more tokens than the model reads, such as a table of numbers, is embedded by its beginning. */
async function embedFitting(texts: readonly string[], embed: EmbedTexts): Promise<readonly (readonly number[])[]> {
  try {
    return await embed(texts);
  } catch (error) {
    const [only = '', ...others] = texts;
    if (!(error instanceof PlatformError) || error.code !== 'TOO_MANY_TOKENS' || only.length < 2) throw error;
    if (others.length === 0) return await embedFitting([only.slice(0, only.length / 2)], embed);
    const half = Math.ceil(texts.length / 2);
    const first = await embedFitting(texts.slice(0, half), embed);
    return [...first, ...(await embedFitting(texts.slice(half), embed))];
  }
}
