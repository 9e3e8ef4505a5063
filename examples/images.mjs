// Draws an image from words, cuts out what it shows, and writes both as PNG files.
import { writeFile } from 'node:fs/promises';
import OpenAI, { toFile } from 'openai';

const { SLUICE_URL = 'http://127.0.0.1:3000', SLUICE_API_KEY } = process.env;
const client = new OpenAI({ baseURL: `${SLUICE_URL}/api/v1`, apiKey: SLUICE_API_KEY });

const [prompt = 'a red apple'] = process.argv.slice(2);
const { data } = await client.images.generate({ model: 'default', prompt, response_format: 'b64_json' });
const image = Buffer.from(data[0].b64_json, 'base64');
await writeFile('image.png', image);
console.log(`image.png: ${image.length} bytes`);

const body = new FormData();
body.append('image', await toFile(image, 'image.png', { type: 'image/png' }));
// This route is not one of OpenAI's; the client can call it all the same.
const response = await client.post('/image/background-remove', { body, __binaryResponse: true });
const cutOut = Buffer.from(await response.arrayBuffer());
await writeFile('cut-out.png', cutOut);
console.log(`cut-out.png: ${cutOut.length} bytes`);
