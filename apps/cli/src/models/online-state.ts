import type { ModelManifest } from '#model-registry/manifest';

/** `online` or `offline` as reported by the running API; `unknown` if it does not respond. */
export type OnlineState = 'online' | 'offline' | 'unknown';

/** State of a model as operators see it. The API lists no internal model, so it does not know their state. */
export function modelState(
  { id, internal }: Pick<ModelManifest, 'id' | 'internal'>,
  stateOf: (modelId: string) => OnlineState,
): OnlineState | 'internal' {
  return internal === true ? 'internal' : stateOf(id);
}

const timeoutMs = 3_000;

/** Asks the API which models have a replica. An API that does not respond is no error. */
export async function fetchOnlineStates(baseUrl: string | null): Promise<(modelId: string) => OnlineState> {
  if (baseUrl === null) return () => 'unknown';
  try {
    const url = new URL('models?type=all', baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const { data } = (await response.json()) as { data: { id: string; model_spec: { offline?: boolean } }[] };
    const states = new Map(data.map(({ id, model_spec }) => [id, model_spec.offline ? 'offline' : 'online'] as const));
    return (modelId) => states.get(modelId) ?? 'offline';
  } catch {
    // The API is stopped or starting; the registry and the disk give the remaining state.
    return () => 'unknown';
  }
}
