import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import type { CliContext } from '../cli-context.js';

const requestWithinMs = 120_000;
const keyLifetimeMs = 600_000;

/** Calls the model as a client would, with a key that is revoked afterwards, and prints how to call it. */
export async function tryThroughApi(context: CliContext, manifest: ModelManifest, baseUrl: string): Promise<void> {
  const call = callOf(manifest);
  if (call === null) return sayServing(context, manifest, baseUrl);
  const accounts = await context.requireAccounts();
  const [account] = await accounts.listAccounts();
  if (account === undefined) return context.next('sluice accounts create <name>');
  const { key, record } = await accounts.createKey({
    accountId: account.id,
    kind: 'INFERENCE',
    description: `sluice models add ${manifest.id}`,
    expiresAt: new Date(Date.now() + keyLifetimeMs),
  });
  try {
    await send(`${baseUrl}/${call.path}`, { key, body: { ...call.body, model: manifest.id } });
  } finally {
    await accounts.revokeKey(record.id);
  }
  context.output.line(`${manifest.id}: serving`);
  context.output.line('Call it with one of your keys:');
  context.output.line(
    `  curl ${baseUrl}/${call.path} -H "Authorization: Bearer $SLUICE_API_KEY" -H 'content-type: application/json' \\\n` +
      `    -d '${JSON.stringify({ model: manifest.id, ...call.example })}'`,
  );
}

/** A model without a small request of its own: a worker has loaded it, which ran every graph. */
function sayServing({ output }: CliContext, { id, type }: ModelManifest, baseUrl: string): void {
  output.line(`${id}: loaded by a worker`);
  if (type !== 'asr') return;
  output.line('Call it with one of your keys:');
  output.line(
    `  curl ${baseUrl}/audio/transcriptions -H "Authorization: Bearer $SLUICE_API_KEY" -F file=@speech.wav -F model=${id}`,
  );
}

function callOf({ type, kindMembers }: ModelManifest): { path: string; body: object; example: object } | null {
  const messages = [{ role: 'user', content: 'Hello!' }];
  if (type === 'text') {
    return { path: 'chat/completions', body: { messages, max_completion_tokens: 8 }, example: { messages } };
  }
  if (type === 'embedding') return { path: 'embeddings', body: { input: 'Hello!' }, example: { input: 'Hello!' } };
  if (type === 'rerank') {
    const body = { query: 'Hello!', documents: ['Good morning.', 'The parliament voted on the budget.'] };
    return { path: 'rerank', body, example: body };
  }
  if (type === 'tts') {
    const { voices: [voice] = [] } = (kindMembers ?? {}) as { voices?: string[] };
    // Without ffmpeg there are no other formats than this one.
    const body = { input: 'Hello!', voice, response_format: 'wav' };
    return { path: 'audio/speech', body, example: body };
  }
  return null;
}

async function send(url: string, { key, body }: { key: string; body: object }): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(requestWithinMs),
  });
  const text = await response.text();
  if (response.ok) return;
  throw new PlatformError('INFERENCE_FAILED', `The api answered ${response.status}: ${text.slice(0, 500)}`);
}
