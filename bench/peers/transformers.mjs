// Text generation with transformers.js on the CPU and the same weights, one request at a time or in padded batches.
import { AutoModelForCausalLM, AutoTokenizer, BaseStreamer, env, Tensor } from '@huggingface/transformers';
import { dirname, basename } from 'node:path';
import { nowMs, servePeer } from './peer-channel.mjs';

let model;
let tokenizer;

async function load({ folder, threads, externalData }) {
  env.allowRemoteModels = false;
  env.localModelPath = dirname(folder);
  const name = basename(folder);
  const session_options = { intraOpNumThreads: threads, interOpNumThreads: 1 };
  tokenizer = await AutoTokenizer.from_pretrained(name);
  model = await AutoModelForCausalLM.from_pretrained(name, {
    dtype: 'fp32',
    device: 'cpu',
    subfolder: '',
    use_external_data_format: externalData,
    session_options,
  });
  return null;
}

/** Returns the token ids of a prompt: with the model's chat template, or as plain text if there is none. */
function encode(prompt) {
  if (!tokenizer.chat_template) return tokenizer.encode(prompt);
  const messages = [{ role: 'user', content: prompt }];
  const text = tokenizer.apply_chat_template(messages, { tokenize: false, add_generation_prompt: true });
  return tokenizer.encode(text, { add_special_tokens: false });
}

class StepClock extends BaseStreamer {
  steps = [];
  seenPrompt = false;
  put() {
    if (this.seenPrompt) this.steps.push(nowMs());
    this.seenPrompt = true;
  }
  end() {}
}

async function generate(requests, startMs) {
  const rows = requests.map(({ prompt }) => encode(prompt));
  const longest = Math.max(...rows.map((row) => row.length));
  const ids = BigInt64Array.from(
    rows.flatMap((row) => [...Array(longest - row.length).fill(0), ...row]),
    BigInt,
  );
  const mask = BigInt64Array.from(
    rows.flatMap((row) => [...Array(longest - row.length).fill(0), ...Array(row.length).fill(1)]),
    BigInt,
  );
  const shape = [rows.length, longest];
  const length = Math.max(...requests.map(({ maxTokens }) => maxTokens));
  const streamer = new StepClock();
  await model.generate({
    inputs: new Tensor('int64', ids, shape),
    attention_mask: new Tensor('int64', mask, shape),
    max_new_tokens: length,
    min_new_tokens: length,
    do_sample: false,
    streamer,
  });
  // A padded batch runs until its longest row ends. Tokens beyond what a row requested are not counted.
  return requests.map(({ maxTokens }, index) => ({
    startMs,
    pieceMs: streamer.steps.slice(0, maxTokens),
    tokens: Math.min(maxTokens, streamer.steps.length),
    promptTokens: rows[index].length,
  }));
}

async function run({ requests, concurrency, encodeOnly }) {
  const promptIds = requests.map(({ prompt }) => encode(prompt));
  if (encodeOnly) return { timings: [], promptIds };
  const startMs = nowMs();
  const timings = [];
  for (let from = 0; from < requests.length; from += concurrency) {
    timings.push(...(await generate(requests.slice(from, from + concurrency), startMs)));
  }
  return { timings, promptIds };
}

servePeer({ load, run });
