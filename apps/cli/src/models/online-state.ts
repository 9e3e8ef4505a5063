/** `online` and `offline` as the running api says; `unknown` where none answers. */
export type OnlineState = 'online' | 'offline' | 'unknown';

const timeoutMs = 3_000;

/** Asks the api which models a worker holds. An api that does not answer is no failure: much works without it. */
export async function fetchOnlineStates(baseUrl: string | null): Promise<(modelId: string) => OnlineState> {
  if (baseUrl === null) return () => 'unknown';
  try {
    const url = new URL('models?type=all', baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const { data } = (await response.json()) as { data: { id: string; model_spec: { offline?: boolean } }[] };
    const states = new Map(data.map(({ id, model_spec }) => [id, model_spec.offline ? 'offline' : 'online'] as const));
    return (modelId) => states.get(modelId) ?? 'offline';
  } catch {
    // Stopped, or on its way up: the registry and the disk are what is left to tell.
    return () => 'unknown';
  }
}
