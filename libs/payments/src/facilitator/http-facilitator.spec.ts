import { describe, expect, it } from 'vitest';
import type { OperatorRequest } from '#egress';
import { FacilitatorError, HttpFacilitator } from './http-facilitator.js';

const terms = {
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  extra: { name: 'USD Coin', version: '2' },
  maxTimeoutSeconds: 300,
};
const payment = { terms, amount: 10_000_000n, payload: { signature: '0x1', authorization: {} } };
const never = new AbortController().signal;

/** A facilitator that answers with this text. */
function facilitatorOf(text: string, status = 200) {
  const requests: OperatorRequest[] = [];
  const post = async (request: OperatorRequest) => {
    requests.push(request);
    return { status, bytes: Buffer.from(text) };
  };
  const settings = { url: 'http://10.0.0.1/x402/', token: 'secret' };
  return { facilitator: new HttpFacilitator({ settings, client: { post } }), requests };
}

describe('HttpFacilitator', () => {
  it('sends the payment as the second version of the protocol says', async () => {
    const { facilitator, requests } = facilitatorOf('{"isValid":true,"payer":"0xabc"}');
    expect(await facilitator.verify(payment, never)).toEqual({ valid: true, payer: '0xabc' });
    const [request] = requests;
    expect(request).toMatchObject({ url: 'http://10.0.0.1/x402/verify', authorization: 'Bearer secret', isGet: false });
    const requirements = { scheme: 'exact', amount: '10000000', ...terms };
    expect(JSON.parse(Buffer.from(request?.body ?? []).toString())).toEqual({
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted: requirements, payload: payment.payload },
      paymentRequirements: requirements,
    });
  });

  it.each([
    ['{"success":true,"transaction":"0x1","network":"eip155:8453"}', { outcome: 'settled', transaction: '0x1' }],
    [
      '{"success":false,"errorReason":"settlement_pending","transaction":"0x1"}',
      { outcome: 'pending', transaction: '0x1' },
    ],
    ['{"success":false,"errorReason":"unexpected_settle_error"}', { outcome: 'pending', transaction: null }],
    [
      '{"success":false,"errorReason":"transaction_failed","transaction":""}',
      { outcome: 'pending', transaction: null },
    ],
    ['{"success":false}', { outcome: 'pending', transaction: null }],
    [
      '{"success":false,"errorReason":"insufficient_funds","transaction":"0x1"}',
      { outcome: 'pending', transaction: '0x1' },
    ],
    [
      '{"success":false,"errorReason":"insufficient_funds","errorMessage":"at http://10.0.0.1"}',
      { outcome: 'failed', reason: 'insufficient_funds', message: 'The payment was refused: insufficient_funds.' },
    ],
  ])('reads %s as %o', async (text, expected) => {
    expect(await facilitatorOf(text).facilitator.settle(payment, never)).toEqual(expected);
  });

  it.each([
    '',
    'null',
    '[]',
    '{}',
    '{"ok":true}',
    '<html>',
    '{"success":true}',
    '{"success":"yes","transaction":"0x1"}',
  ])('takes %s for no answer, whatever its status', async (text) => {
    for (const status of [200, 500]) {
      await expect(facilitatorOf(text, status).facilitator.settle(payment, never)).rejects.toThrow(FacilitatorError);
      await expect(facilitatorOf(text, status).facilitator.verify(payment, never)).rejects.toThrow(FacilitatorError);
    }
  });

  it('takes a verification without a payer for no answer', async () => {
    await expect(facilitatorOf('{"isValid":true}').facilitator.verify(payment, never)).rejects.toThrow(
      FacilitatorError,
    );
  });

  it('says which network the facilitator does not support', async () => {
    const kinds = (network: string) => JSON.stringify({ kinds: [{ x402Version: 2, scheme: 'exact', network }] });
    expect(await facilitatorOf(kinds('eip155:8453')).facilitator.problemWith(terms, never)).toBeNull();
    expect(await facilitatorOf(kinds('eip155:1')).facilitator.problemWith(terms, never)).toContain('eip155:8453');
    await expect(facilitatorOf('{"kinds":7}').facilitator.problemWith(terms, never)).rejects.toThrow(FacilitatorError);
  });
});
