import { PlatformError } from '#common';
import { OperatorClient } from '#egress';
import { checkPayments, type PaymentCheck } from '#payments/checks';
import { loadConfig, OpsConfig } from '#platform/config';
import type { CliContext } from '../cli-context.js';

/** `sluice doctor --payments`: prints everything, then rejects if something is a problem. */
export async function doctorPayments(
  { output }: CliContext,
  { json, config = loadConfig(OpsConfig) }: { json?: boolean | undefined; config?: OpsConfig },
): Promise<void> {
  const { networks } = config.paymentExecution;
  const checks = await checkSettings(config);
  if (json) output.json({ networks: checks });
  else {
    const rows = networks.map(({ network, asset, payTo, feePayerKey }) => [
      network,
      asset,
      payTo,
      feePayerKey === null ? 'the facilitator' : 'ops',
    ]);
    if (rows.length === 0)
      output.line('Payments are off: no SLUICE_PAYMENT_EVM_ADDRESS or SLUICE_PAYMENT_SOLANA_ADDRESS.');
    else output.table(['NETWORK', 'ASSET', 'PAID TO', 'SETTLED BY'], rows);
    output.line();
    for (const line of checks.flatMap(linesOf)) output.line(line);
  }
  const problems = checks.flatMap((check) => check.problems).length;
  if (problems > 0) throw new PlatformError('SERVICE_UNAVAILABLE', `${problems} problems were found.`);
  if (!json) output.line('No problems found.');
}

async function checkSettings({ paymentExecution }: OpsConfig): Promise<PaymentCheck[]> {
  const client = new OperatorClient();
  try {
    return await checkPayments(paymentExecution, client);
  } finally {
    await client.close();
  }
}

function linesOf({ network, problems, warnings }: PaymentCheck): string[] {
  return [...problems.map((text) => `! ${network}: ${text}`), ...warnings.map((text) => `  ${network}: ${text}`)];
}
