import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpsConfig, parseConfig } from '#platform/config';
import type { CliContext } from '../cli-context.js';
import { doctorPayments } from './payments-report.js';

let server: Server;
let url: string;

/** A node of chain 5 without contracts. */
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x5' : '0x' }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-key`;
});

afterAll(() => server.close());

async function run(variables: Record<string, string>, json = false): Promise<{ text: string; failure: string | null }> {
  const lines: string[] = [];
  const output = {
    line: (text = '') => lines.push(text),
    table: (_head: string[], rows: string[][]) => lines.push(...rows.map((row) => row.join(' '))),
    json: (value: unknown) => lines.push(JSON.stringify(value)),
  };
  const config = parseConfig(OpsConfig, {
    DATABASE_URL: 'postgresql://localhost/none',
    SLUICE_SECRET_KEY: '0'.repeat(64),
    ...variables,
  });
  const failure = await doctorPayments({ output } as unknown as CliContext, { json, config }).then(
    () => null,
    (error: Error) => error.message,
  );
  return { text: lines.join('\n'), failure };
}

const settings = (network: string) => ({
  SLUICE_PAYMENT_EVM_ADDRESS: `0x${'12'.repeat(20)}`,
  SLUICE_PAYMENT_EVM_NETWORK: network,
  SLUICE_PAYMENT_EVM_RPC_URL: url,
  SLUICE_PAYMENT_EVM_FEE_PAYER_KEY: '34'.repeat(32),
});

describe('sluice doctor --payments', () => {
  it('says that payments are off', async () => {
    const { text, failure } = await run({});
    expect(text).toContain('Payments are off');
    expect(failure).toBeNull();
  });

  it('names a node of another chain, and shows no URL and no key', async () => {
    const { text, failure } = await run(settings('eip155:8453'));
    expect(text).toContain('! eip155:8453: The node is one of chain 5, not of eip155:8453.');
    expect(failure).toBe('1 problems were found.');
    expect(text).not.toMatch(/secret-key|3434/);
  });

  it('names an asset without a contract, as JSON too', async () => {
    const { text, failure } = await run(settings('eip155:5'), true);
    expect(JSON.parse(text)).toMatchObject({
      networks: [{ network: 'eip155:5', problems: [expect.stringContaining('There is no contract at the asset')] }],
    });
    expect(failure).toBe('1 problems were found.');
  });

  it('does not call a node that gives no answer a problem', async () => {
    const variables = { ...settings('eip155:5'), SLUICE_PAYMENT_EVM_RPC_URL: 'http://127.0.0.1:9/secret-key' };
    const { text, failure } = await run(variables);
    expect(text).toContain('could not be checked: eth_chainId: the node gave no answer.');
    expect(text).not.toContain('secret-key');
    expect(failure).toBeNull();
  });
});
