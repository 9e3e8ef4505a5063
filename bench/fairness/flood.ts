import { once } from 'node:events';
import { Agent, request } from 'undici';
import { chatBody, type ChatPlan } from './chat-plan.js';

/*
 * Keeps many chats of one account open, each replaced when it ends, in a process of its own: the measured caller's event loop
 * does none of its work. Argument: `FloodArgument` as JSON. Every message is answered with the chats that have ended so far;
 * ends with its parent's channel.
 */
export interface FloodArgument {
  origin: string;
  key: string;
  chats: number;
  plan: ChatPlan;
}

export interface FloodState {
  open: number;
  ended: number;
  failed: number;
}

const { origin, key, chats, plan } = JSON.parse(process.argv[2] ?? '') as FloodArgument;
const agent = new Agent({ connections: chats, headersTimeout: 0, bodyTimeout: 0 });
const state: FloodState = { open: 0, ended: 0, failed: 0 };
let isStopping = false;

async function ask(): Promise<boolean> {
  const { statusCode, body } = await request(`${origin}/api/v1/chat/completions`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: chatBody(plan),
  });
  const text = await body.text();
  return statusCode === 200 && text.includes('[DONE]');
}

async function keepOpen(): Promise<void> {
  while (!isStopping) {
    state.open += 1;
    const isWhole = await ask().catch(() => false);
    state.open -= 1;
    if (isWhole) state.ended += 1;
    else state.failed += 1;
  }
}

process.on('message', () => process.send?.(state));
const all = Array.from({ length: chats }, () => keepOpen());
await once(process, 'disconnect');
isStopping = true;
await agent.destroy();
await Promise.all(all);
