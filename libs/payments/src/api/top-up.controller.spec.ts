import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import { HttpExchange } from '#platform/http';
import type { Logger } from '#platform/logging';
import { testDouble } from '#test/test-double';
import { PaymentOffers } from '../offers.js';
import { failureAnswer, type TopUpAnswer } from '../top-ups/top-up-answer.js';
import { TopUpController } from './top-up.controller.js';

const base = {
  kind: 'evm' as const,
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  extra: { name: 'USD Coin', version: '2' },
  maxTimeoutSeconds: 300,
};
const receipt = { success: true, network: base.network, payer: '0xabc', transaction: '0x1' };

interface Sent {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** Calls the route with these headers; the service answers with `submit`. */
async function call(
  headers: Record<string, string>,
  {
    networks = [base],
    submit = vi.fn(),
  }: { networks?: (typeof base)[]; submit?: (header: string) => Promise<TopUpAnswer> } = {},
): Promise<Sent> {
  const sent: Omit<Sent, 'body'> = { status: 200, headers: {} };
  const reply = {
    raw: new EventEmitter(),
    request: { headers, protocol: 'http', host: 'api.example.org' },
    status: (status: number) => ((sent.status = status), reply),
    type: () => reply,
    header: (name: string, value: string) => ((sent.headers[name.toLowerCase()] = value), reply),
    headers: (headers: Record<string, string>) => {
      for (const [name, value] of Object.entries(headers)) sent.headers[name.toLowerCase()] = value;
    },
  };
  const offers = new PaymentOffers({ networks, minUsd: 5, maxUsd: 10_000 });
  const logger = { warn: vi.fn() } as unknown as Logger;
  const http = new HttpExchange(reply as unknown as FastifyReply);
  const body = await new TopUpController(testDouble({ submit }), offers, testDouble({}), logger).topUp(http);
  return { ...sent, body: (Buffer.isBuffer(body) ? JSON.parse(body.toString()) : body) as Record<string, unknown> };
}

const decode = (text: string | undefined) => JSON.parse(Buffer.from(text ?? '', 'base64').toString()) as unknown;

describe('POST /x402/top-up', () => {
  it('says what the operator has to set where payments are not configured', async () => {
    await expect(call({}, { networks: [] })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining('SLUICE_PAYMENT_EVM_ADDRESS') as string,
    });
  });

  it('offers the smallest top-up on each network, also in the header, and names the cap of clients', async () => {
    const { status, headers, body } = await call({});
    expect(status).toBe(402);
    expect(decode(headers['payment-required'])).toEqual(body);
    const { kind: _kind, ...terms } = base;
    expect(body).toMatchObject({ x402Version: 2, accepts: [{ scheme: 'exact', amount: '5000000', ...terms }] });
    expect(JSON.stringify(body.resource)).toContain('spendControls');
  });

  it.each(['payment-signature', 'x-402-payment', 'x-payment'])('reads the payment of %s', async (name) => {
    const answer = { status: 200, body: Buffer.from('{"success":true}'), receipt };
    const submit = vi.fn(async () => answer);
    const { status, headers, body } = await call({ [name]: 'payment' }, { submit });
    expect(submit).toHaveBeenCalledWith('payment', expect.anything());
    expect([status, body, decode(headers['payment-response'])]).toEqual([200, { success: true }, receipt]);
  });

  it('refuses two payments', async () => {
    await expect(call({ 'payment-signature': 'one', 'x-payment': 'two' })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
    });
  });

  it('answers an invalid payment in the form of the protocol, naming the field', async () => {
    const submit = async () => {
      throw new PlatformError('X402_INVALID_PAYMENT', 'payload must be an object.', 'payload');
    };
    expect(await call({ 'x-payment': 'p' }, { submit })).toMatchObject({
      status: 400,
      body: { error: 'X402_INVALID_PAYMENT', message: 'payload must be an object.', details: { field: 'payload' } },
    });
  });

  it('has the receipt of a failed payment, and the time to ask again for a pending one', async () => {
    const failed = failureAnswer(
      { error: 'PAYMENT_SETTLEMENT_FAILED', message: 'No.' },
      { ...receipt, success: false },
    );
    const { status, headers } = await call({ 'x-payment': 'p' }, { submit: async () => failed });
    expect([status, decode(headers['payment-response'])]).toEqual([400, { ...receipt, success: false }]);
    const pending = { status: 202, body: Buffer.from('{}'), receipt };
    expect((await call({ 'x-payment': 'p' }, { submit: async () => pending })).headers['retry-after']).toBe('5');
  });
});
