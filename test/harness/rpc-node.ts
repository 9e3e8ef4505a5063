import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call as a node receives it. */
export interface NodeCall {
  id: unknown;
  method: string;
  params?: unknown[];
}

type Answer = string | ((call: NodeCall) => string);

/** A loopback JSON-RPC server with the habits of real nodes, good and bad. Results are JSON text, so no number is rounded. */
export class RpcNode {
  /** Bodies of all requests, in order, apart from those that look for chain and height. */
  readonly bodies: string[] = [];
  /** Requests for chain or height. */
  checks = 0;
  chainId = '0x1';
  height = 100;
  /** Status of every response. */
  status = 200;
  /** `reverse`: answers of a batch come in the wrong order. `drop`: it closes the connection; `drop-once`: of the next request. `hang`: it never answers. */
  habit: 'orderly' | 'reverse' | 'drop' | 'drop-once' | 'hang' = 'orderly';
  /** Result, as JSON text, by method; `error:` in front makes it an error. */
  readonly answers = new Map<string, Answer>([['eth_gasPrice', '"0x3b9aca00"']]);
  /** Bytes of a response after which the node pauses, until `resume` or `cut`; null: it does not. */
  pause: number | null = null;
  private paused: { response: ServerResponse; rest: string } | null = null;
  /** The whole body of every response; null: made from `answers`. */
  body: string | null = null;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<RpcNode> {
    const server = createServer((request, response) => void node.respond(request, response));
    const node = new RpcNode(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return node;
  }

  /** With a key in its path, as providers have it. */
  get url(): string {
    return `http://${this.host}/v2/${this.key}`;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  readonly key = 'node-secret-key';

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Sends the rest of the response that is paused, or ends it without. */
  resume(withRest = true): void {
    this.paused?.response.end(withRest ? this.paused.rest : '');
    this.paused = null;
  }

  /** Closes the connection of the response that is paused. */
  cut(): void {
    this.paused?.response.destroy();
    this.paused = null;
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const text = Buffer.concat(parts).toString('utf8');
    const parsed = JSON.parse(text) as NodeCall | NodeCall[];
    const isCheck = !Array.isArray(parsed) && this.checkOf(parsed.method) !== null && parsed.id === 1;
    if (isCheck) this.checks += 1;
    else this.bodies.push(text);
    if (this.habit === 'drop' || this.habit === 'drop-once') {
      if (this.habit === 'drop-once') this.habit = 'orderly';
      return void request.socket.destroy();
    }
    if (this.habit === 'hang' && !isCheck) return;
    response.writeHead(this.status, { 'content-type': 'application/json' });
    const answer = isCheck ? this.answerOf(parsed) : (this.body ?? this.answerTo(parsed));
    if (isCheck || this.pause === null || answer.length <= this.pause) return void response.end(answer);
    response.write(answer.slice(0, this.pause));
    this.paused = { response, rest: answer.slice(this.pause) };
  }

  private answerTo(calls: NodeCall | NodeCall[]): string {
    if (!Array.isArray(calls)) return this.answerOf(calls);
    const answers = calls.map((call) => this.answerOf(call));
    return `[${(this.habit === 'reverse' ? answers.toReversed() : answers).join(',')}]`;
  }

  private answerOf(call: NodeCall): string {
    const given = this.answers.get(call.method) ?? this.checkOf(call.method);
    const answer = typeof given === 'function' ? given(call) : given;
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},`;
    if (answer === null) return `${head}"error":{"code":-32601,"message":"method not found"}}`;
    return answer.startsWith('error:') ? `${head}"error":${answer.slice(6)}}` : `${head}"result":${answer}}`;
  }

  private checkOf(method: string): string | null {
    const height = `0x${this.height.toString(16)}`;
    const found = new Map([
      ['eth_chainId', JSON.stringify(this.chainId)],
      ['getGenesisHash', JSON.stringify(this.chainId)],
      ['starknet_chainId', JSON.stringify(this.chainId)],
      ['eth_blockNumber', JSON.stringify(height)],
      ['getSlot', String(this.height)],
      ['starknet_blockNumber', String(this.height)],
    ]);
    return found.get(method) ?? null;
  }
}
