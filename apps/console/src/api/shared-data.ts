import { serviceUrl } from './client.js';
import { sessionState } from './session.js';

interface SharedData {
  /** The query, and the API key behind the session: tabs may be signed in with another one. */
  key: string;
  apiKeyId: string;
  data: unknown;
}

type Listener = (data: unknown) => void;

const listeners = new Map<string, Set<Listener>>();
let channel: BroadcastChannel | null = null;

/** Opened on first use, by the address of the service: several may be published under one host. */
function openChannel(): BroadcastChannel {
  if (channel !== null) return channel;
  channel = new BroadcastChannel(`sluice-console ${serviceUrl('')}`);
  channel.addEventListener('message', ({ data: message }: MessageEvent<SharedData>) => {
    if (message.apiKeyId !== apiKeyId()) return;
    for (const listener of listeners.get(message.key) ?? []) listener(message.data);
  });
  return channel;
}

function apiKeyId(): string | null {
  const state = sessionState();
  return state.state === 'signed-in' ? state.session.key.id : null;
}

/** Gives a response to the other tabs and windows of the browser that show the same. */
export function shareData(key: string, data: unknown): void {
  const owner = apiKeyId();
  if (owner !== null) openChannel().postMessage({ key, apiKeyId: owner, data } satisfies SharedData);
}

/** Calls back with what other tabs loaded, until the returned function is called. */
export function onSharedData(key: string, listener: Listener): () => void {
  openChannel();
  const known = listeners.get(key) ?? new Set();
  listeners.set(key, known.add(listener));
  return () => {
    known.delete(listener);
    if (known.size === 0) listeners.delete(key);
  };
}
