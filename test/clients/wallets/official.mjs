// The protocol's own client packages pay and then chat. SLUICE_TEST_CLIENT: `{ baseUrl, model, evm, solana }` with the keys
// of two payers and the address of a Solana node; prints what they got.
import { createKeyPairSignerFromBytes } from '@solana/kit';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { createSIWxPayload, encodeSIWxHeader, wrapFetchWithSIWx } from '@x402/extensions/sign-in-with-x';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';
import { chatBody, printResults, readSettings, refusalOf } from './settings.mjs';

const { baseUrl, model, evm, solana } = readSettings();
const topUp = `${baseUrl}/x402/top-up`;
const spendControls = { maxAmountPerPayment: '$10000' };

async function pay(schemes) {
  const response = await wrapFetchWithPayment(fetch, x402Client.fromConfig({ schemes, spendControls }))(topUp, {
    method: 'POST',
  });
  const header = response.headers.get('PAYMENT-RESPONSE');
  const body = await response.json();
  return { status: response.status, body, settlement: header && decodePaymentResponseHeader(header) };
}

const chatUrl = `${baseUrl}/chat/completions`;
const chatRequest = (headers = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(chatBody(model)),
});

/** The wrapper of fetch signs for the network of the first offer, so it serves no wallet of another chain. */
async function signInOnSolana(signer) {
  const refused = await fetch(chatUrl, chatRequest());
  const { extensions } = decodePaymentRequiredHeader(refused.headers.get('PAYMENT-REQUIRED'));
  const { info, supportedChains } = extensions['sign-in-with-x'];
  const chain = supportedChains.find(({ chainId }) => chainId.startsWith('solana:'));
  return encodeSIWxHeader(await createSIWxPayload({ ...info, ...chain }, signer, chatUrl));
}

async function chat(send) {
  const response = await send();
  const body = await response.json();
  const remaining = response.headers.get('X-Balance-Remaining');
  return { status: response.status, choices: body.choices?.length, remaining, error: body.error };
}

const account = privateKeyToAccount(evm.privateKey);
const evmSchemes = [{ network: 'eip155:8453', client: new ExactEvmScheme(account) }];
const keyPair = await createKeyPairSignerFromBytes(Buffer.from(solana.secretKey, 'base64'));
const svmSchemes = [
  {
    network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    client: new ExactSvmScheme(keyPair, { rpcUrl: solana.rpcUrl }),
  },
];

printResults({
  byDefault: await refusalOf(() =>
    wrapFetchWithPayment(fetch, x402Client.fromConfig({ schemes: evmSchemes }))(topUp, { method: 'POST' }),
  ),
  evm: await pay(evmSchemes),
  evmChat: await chat(() => wrapFetchWithSIWx(fetch, account)(chatUrl, chatRequest())),
  solana: await pay(svmSchemes),
  solanaChat: await chat(async () => fetch(chatUrl, chatRequest({ 'SIGN-IN-WITH-X': await signInOnSolana(keyPair) }))),
});
