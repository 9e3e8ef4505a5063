#!/usr/bin/env node
// `npm run tour [-- --quick] [name …]`: calls every modality once with the official client and prints one line each.
// Uses SLUICE_API_KEY and SLUICE_BASE_URL if they are set, else the product that runs on this machine, else starts one.
// Waits for models that are still being pulled; with `--quick` it does not. Exits with 1 if a call was refused or failed.
import OpenAI from 'openai';
import { readCommandLine } from './command-line.mjs';
import { findProduct } from './tour/product.mjs';
import { ModelList } from './tour/model-list.mjs';
import { runStep } from './tour/run-step.mjs';
import { steps } from './tour/steps.mjs';

const known = steps.map(({ name }) => name);
const about = `npm run tour [-- --quick] [name …]

Calls every modality once and prints one line each. Names: ${known.join(', ')}.
SLUICE_API_KEY    an inference key; needed where the product runs already
SLUICE_BASE_URL   its address; default: the product that runs for this SLUICE_HOME, else one is started`;
const options = { quick: { about: 'does not wait for models that are still being pulled' } };
const { values, words: names } = readCommandLine(about, options, { name: 'name', known });
const isQuick = values.quick;

const product = await findProduct().catch(({ message }) => {
  console.error(message);
  process.exit(1);
});
try {
  const client = new OpenAI({ apiKey: product.apiKey, baseURL: product.baseUrl, maxRetries: 0, timeout: 600_000 });
  const context = { client, models: new ModelList(client), isQuick, results: new Map() };
  console.log(`Sluice at ${product.baseUrl}`);
  const chosen = names.length === 0 ? steps : steps.filter(({ name }) => names.includes(name));
  const states = [];
  for (const step of chosen) states.push(await runStep(step, context));
  const count = (state) => states.filter((each) => each === state).length;
  console.log(`${count('ok')} of ${states.length} ok, ${count('missing')} without a model`);
  process.exitCode = states.some((state) => state === 'refused' || state === 'failed') ? 1 : 0;
} finally {
  await product.close();
}
