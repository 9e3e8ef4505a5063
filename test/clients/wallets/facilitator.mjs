// The protocol's own facilitator verifies payments. SLUICE_TEST_CLIENT: `{ rpcUrl, requirements, payloads }`; prints a
// reason for each payload, null if it is valid.
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createPublicClient, http } from 'viem';
import { printResults, readSettings } from './settings.mjs';

const { rpcUrl, requirements, payloads } = readSettings();
const client = createPublicClient({ transport: http(rpcUrl) });
const signer = Object.assign(Object.create(client), client, { getAddresses: () => [requirements.payTo] });
const facilitator = new ExactEvmScheme(signer);

const reasons = [];
for (const payload of payloads) {
  const { isValid, invalidReason } = await facilitator.verify(
    { x402Version: 2, accepted: requirements, payload },
    requirements,
  );
  reasons.push(isValid ? null : invalidReason);
}
printResults(reasons);
