import { deterministicWords } from '#test/deterministic-engine';
import { askWhole, contentOf } from './chat-caller.js';
import { lockMs } from './fault-scene.js';
import type { FaultSlice } from './fault-slice.js';
import { chatCostNano } from './job-ledger.js';
import { mediaSlices } from './media-slices.js';

const chatSlice: FaultSlice = {
  name: 'chat',
  lockMs,
  async run(platform, { durationMs, text }) {
    const tokens = 40;
    const directives = `tokens=${tokens} delay=${Math.round(durationMs / tokens)}`;
    const { requestId, status, text: answer } = await askWhole(platform, { directives, text });
    const expected = deterministicWords(`user: ${contentOf({ directives, text })}`, { count: tokens }).join('');
    if (status !== 200 || answer !== expected) throw new Error(`${requestId}: ${status} with ${String(answer)}`);
    return { requestId, costNano: chatCostNano };
  },
};

export const faultSlices: readonly FaultSlice[] = [chatSlice, ...mediaSlices];
