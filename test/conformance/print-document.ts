import { publishedDocument } from './published-document.js';

/* Prints the OpenAPI document for the site of the documentation (`npm run site`). */

process.stdout.write(`${JSON.stringify(await publishedDocument())}\n`);
