import { createPrivateKey, sign } from 'node:crypto';
import { privateKeyToAccount } from 'viem/accounts';
import { runChainProgram } from './chain-program.js';
import { signTransfer } from './evm-contracts.js';
import type { EvmPayer, PaymentChains, SolanaPayer } from './payment-chains.js';
import { encodeBase58 } from './solana-vm.js';
import { solanaMainnet, type TestWallet } from './wallet-sign-ins.js';

/** One entry of `accepts`. */
export interface PaymentOffer {
  network: string;
  asset: string;
  amount: string;
  payTo: string;
  extra: Record<string, string>;
}

/** A payment header of the second version of the protocol. */
function encodePayment(accepted: PaymentOffer, payload: object): string {
  return Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64');
}

/** Signs a payment of an offer, in base units. */
export async function payOnEvm(
  { token }: PaymentChains,
  payer: EvmPayer,
  offer: PaymentOffer,
  value: bigint,
): Promise<string> {
  const transfer = await signTransfer(token, privateKeyToAccount(payer.privateKey), { to: offer.payTo, value });
  return encodePayment(offer, transfer);
}

/** As above, on Solana; the platform signs as the fee payer. */
export async function payOnSolana(
  { vm }: PaymentChains,
  payer: SolanaPayer,
  offer: PaymentOffer,
  value: bigint,
): Promise<string> {
  const { payTo, asset: mint, extra } = offer;
  const settings = { url: vm.url, secretKey: payer.secretKey, payTo, mint, amount: value.toString() };
  const environment = { SLUICE_TEST_CLIENT: JSON.stringify({ ...settings, feePayer: extra.feePayer }) };
  const { transaction } = JSON.parse(await runChainProgram('clients/pay-solana.mjs', environment)) as object & {
    transaction: string;
  };
  return encodePayment(offer, { transaction });
}

/** The wallet of a payer, which signs in. */
export function solanaWalletOf({ address, secretKey }: SolanaPayer): TestWallet {
  const bytes = Buffer.from(secretKey, 'base64');
  const [seed, publicKey] = [bytes.subarray(0, 32), bytes.subarray(32)].map((part) => part.toString('base64url'));
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: seed, x: publicKey }, format: 'jwk' });
  const signText = (text: string) => Promise.resolve(encodeBase58(sign(null, Buffer.from(text), key)));
  return { address, family: 'solana', chainId: solanaMainnet, sign: signText };
}
