// Asks about a document: `node examples/files.mjs report.pdf`. Without a path it sends a small table.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import OpenAI from 'openai';

const { SLUICE_URL = 'http://127.0.0.1:3000', SLUICE_API_KEY } = process.env;
const client = new OpenAI({ baseURL: `${SLUICE_URL}/api/v1`, apiKey: SLUICE_API_KEY });

const [path] = process.argv.slice(2);
const bytes = path ? await readFile(path) : Buffer.from('item,cost\npaper,12\nink,30\n');
// The format is found by content: PDF, DOCX, PPTX, XLSX, EPUB or text.
const file_data = `data:application/octet-stream;base64,${bytes.toString('base64')}`;
const filename = path ? basename(path) : 'costs.csv';

async function ask(content) {
  const messages = [{ role: 'user', content }];
  const { choices, usage } = await client.chat.completions.create({
    model: 'default',
    messages,
    max_completion_tokens: 60,
  });
  return { text: choices[0].message.content.trim(), tokens: usage.prompt_tokens };
}

const question = { type: 'text', text: 'What does this document say about costs?' };
const without = await ask([question]);
const { text, tokens } = await ask([question, { type: 'file', file: { filename, file_data } }]);
console.log(`${filename} is ${tokens - without.tokens} tokens of the prompt.\n${text}`);
