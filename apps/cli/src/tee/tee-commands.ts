import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { type VerifyFlags, verifyService } from './verify-service.js';

/** `sluice tee …` */
export function addTeeCommands(program: Command, context: CliContext): void {
  const tee = program.command('tee').description('attestation of model hosts').helpCommand(false);
  tee
    .command('verify')
    .description('make a request with SLUICE_API_KEY, and check who answered it and what proves that')
    .argument('[url]', 'address of the service, such as https://api.example.org; default: SLUICE_URL')
    .requiredOption('--model <id>', 'the model to ask')
    .option('--collateral <file>', 'data of the maker of the processor, as JSON, to check the firmware with')
    .option('--pccs <url>', 'a server to fetch that data from')
    .option('--measurement <hex...>', 'expected measurements: MRTD and RTMR0 to 3, or that of an SEV-SNP guest')
    .option(
      '--amd-root <file>',
      'SEV-SNP: PEM with the only roots to trust, and certificates that the service does not send',
    )
    .option('--minimum-firmware <versions>', 'SEV-SNP: lowest boot loader, TEE, SNP and microcode, such as 4.0.24.219')
    .option('--json', 'print one JSON document to stdout')
    .action((url: string | undefined, flags: VerifyFlags) => verifyService(context, url, flags));
}
