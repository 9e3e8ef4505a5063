import type { OperatorClient } from '#egress';
import { ChainError } from './chain-error.js';

/** Sends requests to nodes of the operator. */
export type NodeClient = Pick<OperatorClient, 'post'>;

const timeoutMs = 5_000;
const maxBytes = 8_388_608;
/** Longest text of a node that is passed on. */
const maxText = 200;

/** JSON-RPC 2.0 calls of one node, 5 s each. */
export class JsonRpcClient {
  private lastId = 0;

  constructor(
    private readonly node: NodeClient,
    private readonly url: string,
  ) {}

  /** Returns the result. Rejects with `ChainError`, or with the signal's reason. */
  async call(method: string, params: readonly unknown[], signal: AbortSignal): Promise<unknown> {
    const id = ++this.lastId;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    const { status, bytes } = await this.post(body, method, signal);
    const answer = parseObject(bytes);
    if (answer === null) throw new ChainError('nonsense', `${method}: status ${status} without a JSON object`);
    if (answer.error !== undefined && answer.error !== null) throw this.refusalOf(method, answer.error);
    if (status !== 200) throw new ChainError('unreachable', `${method}: status ${status}`);
    if (!Object.hasOwn(answer, 'result') || answer.id !== id)
      throw new ChainError('nonsense', `${method}: an answer without a result of this call`);
    return answer.result;
  }

  private async post(body: Uint8Array, method: string, signal: AbortSignal) {
    try {
      return await this.node.post({ url: this.url, body, timeoutMs, maxBytes, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw new ChainError('unreachable', `${method}: the node gave no answer`, { cause: error });
    }
  }

  private refusalOf(method: string, error: unknown): ChainError {
    const { code, message, data } = (typeof error === 'object' && error !== null ? error : {}) as Record<
      string,
      unknown
    >;
    const said = typeof message === 'string' ? this.withoutAddress(message) : 'an error without a message';
    return new ChainError('refused', `${method}: ${said}`, {
      refusal: { code: typeof code === 'number' ? code : 0, data },
    });
  }

  /** Nodes repeat their own address in messages, with the key of the operator. */
  private withoutAddress(text: string): string {
    const { host, hostname, pathname } = new URL(this.url);
    let clean = text.replaceAll(/[^\x20-\x7e]/g, ' ');
    for (const secret of [this.url, host, hostname, pathname])
      if (secret.length > 3) clean = clean.replaceAll(secret, '…');
    return clean.slice(0, maxText);
  }
}

function parseObject(bytes: Uint8Array): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
