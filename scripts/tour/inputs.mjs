import { strict as assert } from 'node:assert';
import { APIError } from 'openai';
import sharp from 'sharp';
import { StepSkipped } from './run-step.mjs';
import { dataUrl } from './samples.mjs';

const chatModel = { type: 'text', trait: 'default' };
const pull = 'npx sluice models pull stories-15m';
const words = 'Order 2024-117, total due 42.50';

/** Asks about one part. Fails if its text did not enter the prompt, by the number of its tokens. */
async function ask({ client, model }, part) {
  const send = (content) =>
    client.chat.completions
      .create({ model, messages: [{ role: 'user', content }], max_completion_tokens: 8, temperature: 0 })
      .withResponse();
  const question = { type: 'text', text: 'What is this?' };
  const plain = await send([question]);
  const { data, response } = await send([question, part]).catch((error) => {
    const isRefusal = error instanceof APIError && [400, 503].includes(error.status);
    const [, adapter] = (isRefusal && /model ([^ ,]+), which turns it into text/.exec(error.message)) || [];
    throw adapter === undefined ? error : new StepSkipped(`no model is online: npx sluice models pull ${adapter}`);
  });
  const tokens = data.usage.prompt_tokens - plain.data.usage.prompt_tokens;
  assert(tokens > 5, 'no text of it entered the prompt');
  const adapter = response.headers.get('x-service-input-adapter');
  const text = data.choices[0].message.content ?? '';
  return {
    bytes: Buffer.byteLength(text),
    note: `${tokens} tokens of input${adapter ? ` by ${adapter}` : ''}: ${text}`,
  };
}

/** A page with one line of text. */
function page(line) {
  const content = `BT /F1 12 Tf 20 100 Td (${line}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let text = '%PDF-1.7\n';
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`;
  const end = `trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF`;
  return Buffer.from(text + table + end, 'latin1');
}

function documentInChat(context) {
  const file = { filename: 'order.pdf', file_data: dataUrl(page(words), 'application/pdf') };
  return ask(context, { type: 'file', file });
}

/** Of what `speech` said. */
function recordingInChat(context) {
  const spoken = context.results.get('speech');
  if (spoken === undefined) throw new StepSkipped('there is no speech to hear');
  const format = /wav|mpeg|flac|ogg|aac/.exec(spoken.format)?.[0].replace('mpeg', 'mp3') ?? 'wav';
  const data = spoken.audio.toString('base64');
  return ask(context, { type: 'input_audio', input_audio: { data, format } });
}

async function imageInChat(context) {
  const label = `<text x="40" y="110" font-family="sans-serif" font-size="40">${words}</text>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="760" height="200"><rect width="760" height="200" fill="white"/>${label}</svg>`;
  const png = await sharp(Buffer.from(svg)).png().toBuffer();
  const { channels } = await sharp(png).stats();
  if (channels[0].min > 128) throw new StepSkipped('this machine has no font to print a text with');
  return await ask(context, { type: 'image_url', image_url: { url: dataUrl(png, 'image/png') } });
}

/** Behind `speech`, whose audio one of them uses. */
export const inputSteps = [
  { name: 'PDF in a chat', model: chatModel, pull, run: documentInChat },
  { name: 'audio in a chat', model: chatModel, pull, run: recordingInChat },
  { name: 'image in a chat', model: chatModel, pull, run: imageInChat },
];
