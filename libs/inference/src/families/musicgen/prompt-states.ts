import { PlatformError } from '#common';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import { floatsOf, integerTensor } from '../../runtime/float-tensor.js';
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.js';
import type { SentenceTokenizer } from '../../text/index.js';

/** Longest prompt in tokens. The encoder would take more, but it was trained on sentences. */
const maxTokens = 2_000;

/** A prompt as the decoder hears it. */
export interface PromptStates {
  /** `[1 or 2, tokens, width]`: with the prompt, and without it where both are compared. */
  states: GraphTensor;
  /** `[1 or 2, tokens]`: what may be heard. */
  mask: GraphTensor;
  rows: number;
}

/** Encodes prompts with the T5 encoder that the model was trained with. */
export class PromptReader {
  constructor(private readonly parts: { tokenizer: SentenceTokenizer; encoder: GraphSession; decoder: GraphSession }) {}

  /** Throws `INVALID_REQUEST` for a prompt that is too long. */
  async read(prompt: string, { isCompared, context }: { isCompared: boolean; context: TaskContext }) {
    const { tokenizer, encoder, decoder } = this.parts;
    const encoded = tokenizer.encode(prompt, maxTokens);
    if ('tooLong' in encoded) {
      const message = `The prompt has ${encoded.tooLong} tokens; this model takes ${maxTokens}.`;
      throw new PlatformError('INVALID_REQUEST', message, 'prompt');
    }
    const ids = [...encoded.ids];
    const dims = [1, ids.length];
    const ones = new Array<number>(ids.length).fill(1);
    const feeds = {
      input_ids: integerTensor(encoder, { input: 'input_ids', data: ids, dims }),
      attention_mask: integerTensor(encoder, { input: 'attention_mask', data: ones, dims }),
    };
    const { last_hidden_state: heard } = await context.measure(() => encoder.run(feeds, ['last_hidden_state']));
    const width = heard?.dims.at(-1) ?? 0;
    // Without the prompt nothing may be heard, and nothing is there.
    const rows = isCompared ? 2 : 1;
    const states = new Float32Array(rows * ids.length * width);
    states.set(floatsOf(heard));
    const mask = Array.from({ length: rows * ids.length }, (_, index) => (index < ids.length ? 1 : 0));
    return {
      states: decoder.tensor('float32', states, [rows, ids.length, width]),
      mask: integerTensor(decoder, { input: 'encoder_attention_mask', data: mask, dims: [rows, ids.length] }),
      rows,
    } satisfies PromptStates;
  }
}
