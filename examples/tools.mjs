// Lets the model call a function of this file, and answers with the result of the call.
import OpenAI from 'openai';

const { SLUICE_URL = 'http://127.0.0.1:3000', SLUICE_API_KEY } = process.env;
const client = new OpenAI({ baseURL: `${SLUICE_URL}/api/v1`, apiKey: SLUICE_API_KEY });

const functions = {
  get_weather: ({ city }) => ({ city, sky: 'clear', celsius: 21 }),
};
const city = { type: 'string', maxLength: 20 };
const parameters = { type: 'object', properties: { city }, required: ['city'], additionalProperties: false };
const description = 'The weather of a city.';
const tools = [{ type: 'function', function: { name: 'get_weather', description, parameters } }];

const messages = [{ role: 'user', content: 'What is the weather in Rome?' }];
const request = { model: 'default', messages, tools, temperature: 0, max_completion_tokens: 120 };

const first = await client.chat.completions.create({ ...request, tool_choice: 'required' });
messages.push(first.choices[0].message);
for (const { id, function: call } of first.choices[0].message.tool_calls) {
  // The arguments always are JSON that the schema of the function accepts.
  const result = functions[call.name](JSON.parse(call.arguments));
  console.log(`${call.name}(${call.arguments}) returned ${JSON.stringify(result)}`);
  messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) });
}

const second = await client.chat.completions.create({ ...request, tool_choice: 'none' });
console.log(second.choices[0].message.content.trim());
