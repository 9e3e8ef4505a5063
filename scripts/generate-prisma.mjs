import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const self = fileURLToPath(import.meta.url);
const root = dirname(dirname(self));
const load = createRequire(import.meta.url);

const schemaIn = (folder) => join(folder, 'prisma', 'schema.prisma');
const clientIn = (folder) => join(folder, 'libs', 'platform', 'src', 'prisma', 'generated');

/**
 * Generates the Prisma client from the schema if it is missing or older, in a process of its own. Needs no network. `folder`
 * is another checkout, whose packages are those of this one.
 */
export function generatePrismaClient({ force = false, folder = root } = {}) {
  const generated = join(clientIn(folder), 'client.ts');
  if (!force && existsSync(generated) && statSync(generated).mtimeMs >= statSync(schemaIn(folder)).mtimeMs) return;
  const result = spawnSync(process.execPath, [self, folder], { cwd: folder, encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`The Prisma client cannot be generated:\n${result.stderr ?? ''}`);
}

/** Runs the generator of the Prisma client without Prisma's command line (docs/decisions/plain-start.md). */
async function generate(folder) {
  const { PrismaClientTsGenerator } = load('@prisma/client-generator-ts');
  const { getDMMF } = load('@prisma/get-dmmf');
  const { get_config: readConfig } = load('@prisma/prisma-schema-wasm');
  const schemaPath = schemaIn(folder);
  const datamodel = readFileSync(schemaPath, 'utf8');
  const files = [[schemaPath, datamodel]];
  const dmmf = getDMMF({ datamodel: files });
  if (dmmf.error) throw dmmf.error;
  const options = { prismaSchema: files, datasourceOverrides: {}, ignoreEnvVarErrors: true, env: {} };
  const { config } = JSON.parse(readConfig(JSON.stringify(options)));
  const [generator] = config.generators;
  generator.output.value = clientIn(folder);
  const client = new PrismaClientTsGenerator();
  const { requiresEngineVersion: version } = await client.getManifest(generator);
  await client.generate({
    generator,
    otherGenerators: [],
    schemaPath,
    datamodel,
    dmmf,
    datasources: config.datasources,
    version,
  });
}

if (process.argv[1] === self) {
  try {
    const [folder = root] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
    await generate(folder);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
