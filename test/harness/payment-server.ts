import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { domainSeparator } from 'viem';
import { encodeEventTopics, encodeFunctionResult, parseAbi } from 'viem/utils';

/** Where a test interferes with a payment. */
export type PaymentStep = 'verify' | 'settle' | 'sent' | 'look up';

interface Authorization {
  from: string;
  to: string;
  value: string;
  nonce: string;
}

interface Transfer extends Authorization {
  transaction: string;
  isMined: boolean;
}

const abi = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/** First four bytes of calls. */
const selectors = { decimals: '0x313ce567', domain: '0x3644e515', state: '0xe94a0102' } as const;

export const paymentNetwork = {
  network: 'eip155:8453',
  asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  payTo: '0x8617e340b3d01fa5f11f306f4090fd50e238070d',
} as const;

/** A facilitator by URL and the node of its chain, on loopback. It accepts every signature. */
export class PaymentServer {
  /** Called at each step, before it; the answer waits for it. */
  interfere: (step: PaymentStep) => Promise<void> = async () => undefined;
  /** Text of every response of the facilitator; null: as the protocol says. */
  nonsense: string | null = null;
  /** New transfers wait for `mine`. */
  isWithholding = false;
  /** Calls of `settle`. */
  settled = 0;
  private readonly transfers = new Map<string, Transfer>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<PaymentServer> {
    const server = createServer((request, response) => {
      void payments.answer(request).then(
        (text) => response.setHeader('content-type', 'application/json').end(text),
        () => response.destroy(),
      );
    });
    const payments = new PaymentServer(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    server.unref();
    return payments;
  }

  /** Settings of api and ops that lead here. */
  get environment(): Record<string, string> {
    const origin = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return {
      SLUICE_PAYMENT_EVM_ADDRESS: paymentNetwork.payTo,
      SLUICE_PAYMENT_EVM_RPC_URL: `${origin}/node`,
      SLUICE_PAYMENT_FACILITATOR_URL: `${origin}/facilitator`,
    };
  }

  mine(): void {
    for (const transfer of this.transfers.values()) transfer.isMined = true;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage): Promise<string> {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const text = Buffer.concat(parts).toString('utf8');
    if (request.url === '/node')
      return this.node(JSON.parse(text) as { id: number; method: string; params: unknown[] });
    if (request.url === '/facilitator/supported') {
      const kind = { x402Version: 2, scheme: 'exact', network: paymentNetwork.network };
      return JSON.stringify({ kinds: [kind], extensions: [], signers: {} });
    }
    const { paymentPayload } = JSON.parse(text) as { paymentPayload: { payload: { authorization: Authorization } } };
    const { authorization } = paymentPayload.payload;
    const answer = request.url === '/facilitator/verify' ? this.verify(authorization) : this.settle(authorization);
    return this.nonsense ?? JSON.stringify(await answer);
  }

  private async verify({ from }: Authorization): Promise<object> {
    await this.interfere('verify');
    return { isValid: true, payer: from };
  }

  private async settle(authorization: Authorization): Promise<object> {
    this.settled += 1;
    await this.interfere('settle');
    const transaction = this.send(authorization);
    await this.interfere('sent');
    return { success: true, transaction, network: paymentNetwork.network, payer: authorization.from };
  }

  /** The chain takes an authorization once. */
  private send(authorization: Authorization): string {
    const key = keyOf(authorization.from, authorization.nonce);
    const known = this.transfers.get(key);
    if (known !== undefined) return known.transaction;
    const transaction = `0x${randomBytes(32).toString('hex')}`;
    this.transfers.set(key, { ...authorization, transaction, isMined: !this.isWithholding });
    return transaction;
  }

  private async node({ id, method, params }: { id: number; method: string; params: unknown[] }): Promise<string> {
    if (method === 'eth_getLogs') await this.interfere('look up');
    return JSON.stringify({ jsonrpc: '2.0', id, result: this.resultOf(method, params) });
  }

  private resultOf(method: string, params: unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return '0x2105';
      case 'eth_getCode':
        return '0x60';
      case 'eth_getBlockByNumber':
        return {
          number: '0x10',
          hash: `0x${'1'.repeat(64)}`,
          timestamp: `0x${Math.floor(Date.now() / 1_000).toString(16)}`,
        };
      case 'eth_call':
        return this.call((params[0] as { data: string }).data);
      case 'eth_getLogs': {
        const [, from = '', nonce = ''] = (params[0] as { topics: string[] }).topics;
        const transfer = this.transfers.get(keyOf(`0x${from.slice(26)}`, nonce));
        return transfer?.isMined ? logsOf(transfer).slice(0, 1) : [];
      }
      case 'eth_getTransactionReceipt': {
        const transfer = [...this.transfers.values()].find(({ transaction }) => transaction === params[0]);
        if (!transfer?.isMined) return null;
        return { status: '0x1', blockNumber: '0x10', blockHash: `0x${'1'.repeat(64)}`, logs: logsOf(transfer) };
      }
      default:
        throw new Error(`${method} is not known`);
    }
  }

  private call(data: string): string {
    const selector = data.slice(0, 10);
    if (selector === selectors.decimals) return encodeFunctionResult({ abi, functionName: 'decimals', result: 6 });
    if (selector === selectors.domain) {
      const domain = { name: 'USD Coin', version: '2', chainId: 8453, verifyingContract: paymentNetwork.asset };
      return domainSeparator({ domain });
    }
    const transfer = this.transfers.get(keyOf(`0x${data.slice(34, 74)}`, `0x${data.slice(74, 138)}`));
    return encodeFunctionResult({ abi, functionName: 'authorizationState', result: transfer?.isMined === true });
  }
}

function keyOf(from: string, nonce: string): string {
  return `${from.toLowerCase()} ${nonce.toLowerCase()}`;
}

function logsOf({ from, to, value, nonce, transaction }: Transfer): object[] {
  const common = { address: paymentNetwork.asset, transactionHash: transaction, blockHash: `0x${'1'.repeat(64)}` };
  const used = encodeEventTopics({
    abi,
    eventName: 'AuthorizationUsed',
    args: { authorizer: from as `0x${string}`, nonce: nonce as `0x${string}` },
  });
  const moved = encodeEventTopics({
    abi,
    eventName: 'Transfer',
    args: { from: from as `0x${string}`, to: to as `0x${string}` },
  });
  const amount = `0x${BigInt(value).toString(16).padStart(64, '0')}`;
  return [
    { ...common, topics: used, data: '0x' },
    { ...common, topics: moved, data: amount },
  ];
}
