import { createCipheriv, createDecipheriv, createECDH, type ECDH, hkdfSync, randomBytes } from 'node:crypto';

/*
 * A client of end-to-end encrypted chats, written from the text of the contract with node:crypto alone. It shares no code
 * with the product.
 */

const info = 'ecdsa_encryption';

function keyOf(own: ECDH, peer: string): Buffer {
  return Buffer.from(hkdfSync('sha256', own.computeSecret(peer, 'hex'), '', info, 32));
}

/** A chunk of a stream as it came. */
export interface SealedChunk {
  choices: { index: number; delta: Record<string, unknown>; finish_reason: string | null; logprobs: unknown }[];
  usage?: Record<string, unknown> | null;
}

interface Connection {
  /** With `/api/v1`. */
  baseUrl: string;
  apiKey: string;
  model: string;
}

/** The chat of one client with one model host. */
export class SealingClient {
  private readonly pair = createECDH('secp256k1');
  readonly publicKey: string;

  constructor(
    private readonly connection: Connection,
    /** Of the host: 130 hex characters. */
    readonly hostKey: string,
  ) {
    this.publicKey = this.pair.generateKeys('hex');
  }

  /** Fetches the key of a host of the model. */
  static async open(connection: Connection): Promise<SealingClient> {
    const { baseUrl, apiKey, model } = connection;
    const nonce = randomBytes(32).toString('hex');
    const url = `${baseUrl}/tee/attestation?model=${model}&nonce=${nonce}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
    if (!response.ok) throw new Error(`no attestation: ${response.status} ${await response.text()}`);
    const { signing_key: key } = (await response.json()) as { signing_key: string };
    return new SealingClient(connection, key);
  }

  get headers(): Record<string, string> {
    return {
      'X-Service-TEE-Client-Pub-Key': this.publicKey,
      'X-Service-TEE-Model-Pub-Key': this.hostKey,
      'X-Service-TEE-Signing-Algo': 'ecdsa',
    };
  }

  seal(text: string, hostKey = this.hostKey): string {
    const ephemeral = createECDH('secp256k1');
    const senderKey = ephemeral.generateKeys();
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', keyOf(ephemeral, hostKey), nonce);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([senderKey, nonce, body, cipher.getAuthTag()]).toString('hex');
  }

  open(field: string): string {
    if (!/^04[0-9a-f]{184,}$/.test(field)) throw new Error(`not sealed: ${field.slice(0, 40)}`);
    const bytes = Buffer.from(field, 'hex');
    const decipher = createDecipheriv('aes-256-gcm', keyOf(this.pair, field.slice(0, 130)), bytes.subarray(65, 77));
    decipher.setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(77, -16)), decipher.final()]).toString('utf8');
  }

  async send(body: object, headers: Record<string, string> = this.headers): Promise<Response> {
    const { baseUrl, apiKey, model } = this.connection;
    return await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model, stream: true, ...body }),
    });
  }

  /** Sends one sealed message and returns the chunks; `onText` gets each piece of text, opened, as it comes. */
  async chat(text: string, others: object = {}, onText?: (text: string) => Promise<void>): Promise<SealedChunk[]> {
    const response = await this.send({ messages: [{ role: 'user', content: this.seal(text) }], ...others });
    if (response.status !== 200 || response.body === null) {
      throw new Error(`refused: ${response.status} ${await response.text()}`);
    }
    const chunks: SealedChunk[] = [];
    for await (const data of linesOf(response.body)) {
      if (data === '[DONE]') return chunks;
      const chunk = JSON.parse(data) as SealedChunk;
      chunks.push(chunk);
      const opened = textOf(this, [chunk], 'content');
      if (opened !== '') await onText?.(opened);
    }
    throw new Error('the stream did not end');
  }
}

/** The text of one channel of a choice, opened. */
export function textOf(
  client: SealingClient,
  chunks: readonly SealedChunk[],
  channel: 'content' | 'reasoning_content',
  index = 0,
): string {
  const fields = chunks.flatMap(({ choices }) =>
    choices.filter((choice) => choice.index === index).flatMap(({ delta }) => delta[channel] ?? []),
  );
  return fields.map((field) => client.open(String(field))).join('');
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6);
  }
}
