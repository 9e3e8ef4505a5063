import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ApiConfig, CliConfig, OpsConfig, variablesOf, WorkerConfig } from '#platform/config';

interface Service {
  image: string;
  environment?: Record<string, string>;
  volumes?: string[];
  networks?: string[];
  read_only?: boolean;
  cap_drop?: string[];
}

interface Compose {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean } | null>;
}

const root = join(import.meta.dirname, '..', '..');
const file = join(root, 'docker', 'compose.yaml');
const { services, networks } = parse(readFileSync(file, 'utf8'), { merge: true }) as Compose;

const own: Record<string, new () => object> = {
  api: ApiConfig,
  ops: OpsConfig,
  worker: WorkerConfig,
  migrate: CliConfig,
  register: CliConfig,
  models: CliConfig,
};

function serviceOf(name: string): Service {
  return services[name] ?? expect.fail(`there is no service ${name}`);
}

describe('docker/compose.yaml', () => {
  it('has the start command of docs/deployment.md in its header comment', () => {
    const command = /docker compose -f docker\/compose\.yaml up .*/;
    const [inFile] = command.exec(readFileSync(file, 'utf8')) ?? [];
    const [inDocs] = command.exec(readFileSync(join(root, 'docs', 'deployment.md'), 'utf8')) ?? [];
    expect(inFile).toBe(inDocs);
    // `--wait` treats jobs that end as failures.
    expect(inFile).not.toContain('--wait');
  });

  it.each(Object.entries(own))('gives %s only variables that it reads, and all required ones', (name, configClass) => {
    const variables = variablesOf(configClass);
    const given = Object.keys(serviceOf(name).environment ?? {});
    const known = variables.flatMap(({ name: each, secret }) => (secret ? [each, `${each}_FILE`] : [each]));
    expect(given.filter((variable) => !known.includes(variable))).toEqual([]);
    const required = variables.filter((variable) => variable.required).map((variable) => variable.name);
    expect(
      required.filter((variable) => !given.some((each) => each === variable || each === `${variable}_FILE`)),
    ).toEqual([]);
  });

  it.each(Object.keys(own))('mounts the files that variables of %s name', (name) => {
    const { environment = {}, volumes = [] } = serviceOf(name);
    const mounted = volumes.map((volume) => volume.split(':')[1] ?? '');
    const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
    expect(files.filter(([, path]) => !mounted.some((folder) => path.startsWith(`${folder}/`)))).toEqual([]);
  });

  it.each(Object.keys(own))('runs %s without capabilities and with a read-only file system', (name) => {
    expect(serviceOf(name)).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('isolates workers from the database and the internet', () => {
    const { networks: joined = [], volumes = [] } = serviceOf('worker');
    expect(joined).not.toContain('database');
    expect(joined.filter((name) => networks[name]?.internal !== true)).toEqual([]);
    expect(volumes.filter((volume) => volume.startsWith('database'))).toEqual([]);
  });

  it('pins every image', () => {
    const images = Object.values(services).map(({ image }) => image);
    expect(images.filter((image) => !/:(v?\d[\w.-]*|RELEASE\.[\w-]+)$/.test(image))).toEqual([]);
  });

  it('never lets the queue evict a key', () => {
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/);
  });
});
