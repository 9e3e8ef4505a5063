import { strict as assert } from 'node:assert';

const chatModel = { type: 'text', trait: 'default' };
const pull = 'npx sluice models pull stories-15m';

const question = [{ role: 'user', content: 'Name one city and its country.' }];
const place = {
  type: 'object',
  properties: { city: { type: 'string', maxLength: 20 }, country: { type: 'string', maxLength: 20 } },
  required: ['city', 'country'],
  additionalProperties: false,
};

async function chat({ client, model }) {
  const stream = await client.chat.completions.create({
    model,
    messages: question,
    max_completion_tokens: 24,
    temperature: 0,
    stream: true,
  });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  assert(text.length > 0, 'the stream had no text');
  return { bytes: Buffer.byteLength(text), note: text.trim() };
}

/** Enough for a document of `place`, if the model may write that much. */
const documentTokens = ({ maxCompletionTokens = 240 }) => Math.min(240, maxCompletionTokens);

async function tools({ client, model, spec }) {
  const completion = await client.chat.completions.create({
    model,
    messages: question,
    tools: [{ type: 'function', function: { name: 'look_up', parameters: place } }],
    tool_choice: 'required',
    max_completion_tokens: documentTokens(spec),
    temperature: 0,
  });
  const [call] = completion.choices[0].message.tool_calls ?? [];
  assert.equal(call?.function.name, 'look_up');
  return describe(call.function.arguments);
}

async function structured({ client, model, spec }) {
  const completion = await client.chat.completions.create({
    model,
    messages: question,
    response_format: { type: 'json_schema', json_schema: { name: 'place', strict: true, schema: place } },
    max_completion_tokens: documentTokens(spec),
    temperature: 0,
  });
  return describe(completion.choices[0].message.content ?? '');
}

/** Checks that a text is an object of the schema. */
function describe(text) {
  assert.deepEqual(Object.keys(JSON.parse(text)).sort(), ['city', 'country']);
  return { bytes: Buffer.byteLength(text), note: text };
}

async function responses({ client, model }) {
  const response = await client.responses.create({ model, input: 'Say hello.', max_output_tokens: 24, temperature: 0 });
  assert(response.output_text.length > 0, 'the response has no text');
  return { bytes: Buffer.byteLength(response.output_text), note: response.output_text.trim() };
}

async function embeddings({ client, model }) {
  const { data } = await client.embeddings.create({ model, input: ['a cat', 'a small cat', 'the stock market'] });
  const [first, second, third] = data.map(({ embedding }) => embedding);
  const product = (one, other) => one.reduce((sum, value, index) => sum + value * other[index], 0);
  const note = `${first.length} dimensions; near ${product(first, second).toFixed(2)}, far ${product(first, third).toFixed(2)}`;
  return { bytes: data.length * first.length * 4, note };
}

export const textSteps = [
  { name: 'chat', model: chatModel, pull, run: chat },
  { name: 'tools', model: chatModel, pull, run: tools },
  { name: 'structured output', model: chatModel, pull, run: structured },
  { name: 'responses', model: chatModel, pull, run: responses },
  {
    name: 'embeddings',
    model: { type: 'embedding', trait: 'default' },
    pull: 'npx sluice models pull all-minilm-l6-v2',
    run: embeddings,
  },
];
