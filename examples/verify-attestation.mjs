// Checks who answered a request, without any code of the service: copy this file, verify-receipt.mjs and two packages.
//   npm install viem @phala/dcap-qvl@0.3.9
import { createHash, randomBytes } from 'node:crypto';
import { recoverMessageAddress } from 'viem';
import { publicKeyToAddress } from 'viem/accounts';
import { checkReceipt } from './verify-receipt.mjs';

/**
 * Asks a model and proves where the answer comes from. Resolves with the answer; rejects, naming the claim that does not
 * hold.
 * - `baseUrl`: such as `https://api.example.org/api/v1`; `apiKey`, `model`
 * - `collateral`: data of the processor's maker about its firmware, or a function from the quote to it
 * - `nowMs`: the time to check certificates at
 * - `mrTd`: expected measurement of the machine as hex; without it, nothing says which software runs
 */
export async function askAttested({ baseUrl, apiKey, model, collateral, mrTd, nowMs = Date.now() }) {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const get = async (path, query) => {
    const response = await fetch(`${baseUrl}/tee/${path}?${new URLSearchParams(query)}`, { headers });
    if (!response.ok) throw new Error(`${path}: status ${response.status}`);
    return await response.json();
  };

  // The very bytes are signed: keep those that leave and those that arrive, before anything parses them.
  const sent = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] });
  const response = await fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body: sent });
  const received = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`chat: status ${response.status}`);
  const answer = JSON.parse(received.toString('utf8'));

  const {
    text,
    signature,
    signing_address: signer,
    receipt,
  } = await get('signature', { model, request_id: answer.id });
  const nonce = randomBytes(32);
  const attestation = await get('attestation', { model, nonce: nonce.toString('hex'), signing_address: signer });

  await checkEvidence(attestation, { nonce, collateral, mrTd, nowMs });
  await checkSignature({ text, signature }, { address: attestation.signing_address, sent, received });
  checkReceipt(receipt, attestation, { chatId: answer.id, model: attestation.model, sent, received, nowMs });
  return answer;
}

/** The evidence must be genuine, current, closed to debuggers, and about this key and nonce. */
export async function checkEvidence(attestation, { nonce, collateral, mrTd, nowMs }) {
  const { intel_quote: encoded, signing_key: key, signing_address: address } = attestation;
  require(typeof encoded === 'string', 'hardware: there is no TDX quote, so nothing vouches for the machine');
  const quote = Buffer.from(encoded, 'base64');
  const { default: dcap } = await import('@phala/dcap-qvl');
  const data = typeof collateral === 'function' ? await collateral(quote) : collateral;
  // Throws where a signature, a certificate or the data of the maker does not hold.
  const { status, advisory_ids: advisories, report } = dcap.verify(quote, data, Math.floor(nowMs / 1000));
  require(status === 'UpToDate', `firmware: ${status} ${advisories}`);
  const td = report.asTd15()?.base ?? report.asTd10();
  require(td, 'hardware: the quote is not of TDX');
  require((td.tdAttributes[0] & 1) === 0, 'debugging: TDX debug mode detected');
  require(mrTd === undefined || hex(td.mrTd) === mrTd.toLowerCase(), 'software: another machine was started');
  const owner = publicKeyToAddress(`0x${key}`).toLowerCase();
  require(owner === address.toLowerCase(), 'key: the address is not that of the key');
  require(hex(td.reportData.subarray(0, 32)) === owner.slice(2).padEnd(64, '0'), 'key: the quote is about another key');
  require(hex(td.reportData.subarray(32)) === hex(nonce), 'nonce: the quote may be old');
}

/** The attested key must have signed these bytes. */
export async function checkSignature({ text, signature }, { address, sent, received }) {
  const signer = await recoverMessageAddress({ message: text, signature });
  require(signer.toLowerCase() === address.toLowerCase(), 'exchange: another key signed');
  require(text === `${sha256(sent)}:${sha256(received)}`, 'exchange: other bytes were signed');
}

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

function require(holds, claim) {
  if (!holds) throw new Error(claim);
}
