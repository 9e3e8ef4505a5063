import { PlatformError } from '#common';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import { floatsOf, integerTensor } from '../../runtime/float-tensor.js';
import type { GraphSession, GraphTensor } from '../../runtime/graph-session.js';
import type { SentenceTokenizer } from '../../text/index.js';

/** Longest prompt in tokens. The encoder accepts more, but was trained on sentences. */
const maxTokens = 2_000;

/** An encoded prompt for the decoder. */
export interface PromptStates {
  /** `[1 or 2, tokens, width]`: with the prompt, and without it under guidance. */
  states: GraphTensor;
  /** Attention mask, `[1 or 2, tokens]`. */
  mask: GraphTensor;
  rows: number;
}

/** Encodes prompts with the T5 encoder that the model was trained with. */
export class PromptReader {
  constructor(
    private readonly dependencies: { tokenizer: SentenceTokenizer; encoder: GraphSession; decoder: GraphSession },
  ) {}

  /** Throws `INVALID_REQUEST` for a prompt that is too long. */
  async read(prompt: string, { isCompared, context }: { isCompared: boolean; context: TaskContext }) {
    const { tokenizer, encoder, decoder } = this.dependencies;
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
    const { last_hidden_state: hiddenStates } = await context.measure(() => encoder.run(feeds, ['last_hidden_state']));
    const width = hiddenStates?.dims.at(-1) ?? 0;
    // The unconditional row is all zeros and fully masked.
    const rows = isCompared ? 2 : 1;
    const states = new Float32Array(rows * ids.length * width);
    states.set(floatsOf(hiddenStates));
    const mask = Array.from({ length: rows * ids.length }, (_, index) => (index < ids.length ? 1 : 0));
    return {
      states: decoder.tensor('float32', states, [rows, ids.length, width]),
      mask: integerTensor(decoder, { input: 'encoder_attention_mask', data: mask, dims: [rows, ids.length] }),
      rows,
    } satisfies PromptStates;
  }
}
