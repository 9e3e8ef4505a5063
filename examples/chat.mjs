// Asks one question, then a second one that needs the first answer.
import OpenAI from 'openai';

const { SLUICE_URL = 'http://127.0.0.1:3000', SLUICE_API_KEY } = process.env;
const client = new OpenAI({ baseURL: `${SLUICE_URL}/api/v1`, apiKey: SLUICE_API_KEY });

const messages = [];
for (const question of ['Name a city in Italy.', 'What is it known for?']) {
  messages.push({ role: 'user', content: question });
  const completion = await client.chat.completions.create({ model: 'default', messages, max_completion_tokens: 40 });
  const { message, finish_reason: reason } = completion.choices[0];
  // The model remembers nothing: the next request carries the whole conversation.
  messages.push(message);
  console.log(`> ${question}\n${message.content.trim()}`);
  console.log(`  (${completion.usage.total_tokens} tokens, $${completion.cost.usd.toFixed(9)}, ended by ${reason})`);
}
