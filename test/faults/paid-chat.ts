import type { TinyModelOptions } from '#test/tiny-models';
import { askWhole, type WholeResponse } from './chat-caller.js';
import type { Platform } from '#test/platform';

/*
 * Chats whose reservation equals their charge: only output is charged, and all of it is used. A balance or a limit then
 * covers a whole number of them, and no refund lets others run.
 */

const tokens = 10;
const nanoPerToken = 1_000n;

/** In nano-USD. */
export const paidChatNano = BigInt(tokens) * nanoPerToken;

export const paidModel: TinyModelOptions = {
  id: 'tiny-llama',
  manifest: { pricing: { input: { usd: 0, diem: 0 }, output: { usd: 1, diem: 1 } } },
};

/** Temporary rejections: a burst on one account is admitted one by one, and clients retry. */
const tries = 20;

/** One client that retries when told to. */
export async function askPaid(
  platform: Platform,
  options: { text: string; replica: number; key?: string },
): Promise<WholeResponse> {
  const body = { max_completion_tokens: tokens };
  for (let left = tries; ; left -= 1) {
    const answer = await askWhole(platform, { directives: `tokens=${tokens}`, body, ...options });
    if (answer.status !== 503 || left === 1) return answer;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Many concurrent clients, spread over all replicas. */
export async function askAtOnce(
  platform: Platform,
  requests: { text: string; key?: string }[],
): Promise<WholeResponse[]> {
  const replicas = platform.origins.length;
  return await Promise.all(
    requests.map((options, index) => askPaid(platform, { ...options, replica: index % replicas })),
  );
}

export function countBy(answers: WholeResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, errorCode } of answers) {
    const name = errorCode === null ? String(status) : `${status} ${errorCode}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
