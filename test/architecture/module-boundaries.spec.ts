import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

interface Violation {
  rule: { name: string };
  from: string;
}

/** A minimal project that obeys every rule. */
const skeleton: Record<string, string> = {
  'libs/common/src/index.ts': 'export const one = 1;',
  'libs/platform/src/prisma/index.ts': "import '@prisma/client';\nexport const prisma = 1;",
  'libs/platform/src/metrics/index.ts': "import 'prom-client';\nimport '#common';\nexport const metrics = 1;",
  'libs/platform/src/http/index.ts': "import 'fastify';\nexport const http = 1;",
  'libs/platform/src/validation/index.ts': "import 'class-validator';\nexport const rules = 1;",
  'libs/queue/src/index.ts': "import 'bullmq';\nimport '#common';\nexport const queue = 1;",
  'libs/accounts/src/index.ts': "export * from './account.repository.js';",
  'libs/accounts/src/api/index.ts': "import '../account.repository.js';\nexport const controller = 1;",
  'libs/accounts/src/nest/index.ts':
    "import '@nestjs/common';\nimport '../account.repository.js';\nexport const module = 1;",
  'libs/accounts/src/account.repository.ts': "import '#platform/prisma';\nexport const accounts = 1;",
  'libs/model-registry/src/index.ts': "export * from './model.repository.js';",
  'libs/model-registry/src/model.repository.ts': "import '#platform/prisma';\nexport const models = 1;",
  'libs/model-registry/src/manifest/index.ts': 'export const manifest = 1;',
  'libs/model-store/src/index.ts': "import 'pacote';\nimport '#model-registry/manifest';\nexport const store = 1;",
  'libs/characters/src/index.ts': "import './characters.repository.js';\nexport const characters = 1;",
  'libs/characters/src/characters.repository.ts': "import '#platform/prisma';\nexport const rows = 1;",
  'libs/egress/src/index.ts': "import 'undici';\nimport '#common';\nexport const egress = 1;",
  'libs/media/src/index.ts': "import 'sharp';\nimport '#common';\nexport const media = 1;",
  'libs/media/src/image/decoder/sharp-loaders.ts': "import 'sharp';\nexport const loaders = 1;",
  'libs/documents/src/index.ts': "import '#common';\nexport const documents = 1;",
  'libs/documents/src/formats/pdf.ts': "import 'unpdf';\nexport const pdf = 1;",
  'libs/storage/src/index.ts': "import '@aws-sdk/client-s3';\nimport '#common';\nexport const storage = 1;",
  'libs/jobs/src/index.ts':
    "import '#queue';\nimport '#storage';\nimport '#egress';\nimport '#media';\nexport const jobs = 1;",
  'libs/payments/src/execution/index.ts': "import '../facilitator/evm.js';\nexport const execution = 1;",
  'libs/payments/src/facilitator/evm.ts': "import '@x402/core';\nexport const evm = 1;",
  'libs/gateway/src/index.ts': "import '#jobs';\nimport '#accounts';\nexport const gateway = 1;",
  'libs/console/src/index.ts': "import '#gateway';\nimport '#jobs';\nexport const console = 1;",
  'libs/inference/src/index.ts': "import './runtime/session.js';\nexport const engine = 1;",
  'libs/inference/src/runtime/session.ts': "import 'onnxruntime-node';\nexport const session = 1;",
  'libs/inference/src/host/index.ts': 'export const host = 1;',
  'libs/modalities/src/catalog.ts': "import './chat/contract/index.js';\nexport const catalog = 1;",
  'libs/modalities/src/chat/contract/index.ts': "import '#queue';\nexport const contract = 1;",
  'libs/modalities/src/chat/api/index.ts': "import '../contract/index.js';\nimport '#gateway';\nexport const api = 1;",
  'libs/modalities/src/chat/worker/index.ts':
    "import '../contract/index.js';\nimport '#inference/host';\nexport const worker = 1;",
  'libs/modalities/src/image/contract/index.ts': 'export const image = 1;',
  'apps/api/src/main.ts': "import '#modalities/chat/api';\nimport '#accounts/api';\nexport const main = 1;",
  'apps/ops/src/main.ts': "import '#jobs';\nimport '#accounts/nest';\nexport const main = 1;",
  'apps/api/src/http/form.ts': "import '@fastify/busboy';\nexport const form = 1;",
  'apps/worker/src/main.ts':
    "import '#modalities/chat/worker';\nimport '#model-store';\nimport '#media';\nimport '#storage';\nexport const main = 1;",
  'test/harness/fake.ts': "import '#queue';\nexport const fake = 1;",
};

/** The folders of libraries that have an order, from the bottom to the top. */
const folders = {
  queue: [
    ...[
      'contract',
      'connections',
      'fairness',
      'trust',
      'stores',
      'heartbeats',
      'workers',
      'replies',
      'hosts',
      'affinity',
      'jobs',
    ],
    ...['transport', 'checks', 'nest'],
  ],
  gateway: [
    ...[
      'request',
      'access-log',
      'wallets',
      'errors',
      'access',
      'sharing',
      'limits',
      'idempotency',
      'pipeline',
      'responses',
    ],
    ...['inputs', 'media', 'moderation', 'augment', 'crypto-rpc', 'tee', 'http'],
  ],
  chat: ['job', 'inputs', 'characters', 'web', 'chat', 'completions', 'messages', 'responses'],
};

/** Lets a file of each folder import one of the folder above it. */
function upwardImports(
  name: string,
  order: readonly string[],
  root = `libs/${name}/src`,
): Record<string, { file: string; text: string }> {
  const pathOf = (folder: string) => `${root}/${folder}/upward.ts`;
  const offences = order.slice(0, -1).map((folder, index) => {
    const text = `import '../${order[index + 1]}/upward.js';`;
    return [`${name}-order-${folder}`, { file: pathOf(folder), text }] as const;
  });
  return Object.fromEntries(offences);
}

/** A violating file for every rule. */
const violatingFiles: Record<string, { file: string; text: string }> = {
  'no-cycles': { file: 'libs/common/src/ring-back.ts', text: "import './ring.js';" },
  resolvable: { file: 'libs/common/src/lost.ts', text: "import './nowhere.js';" },
  'layer-common': { file: 'libs/common/src/nosy.ts', text: "import '#platform/metrics';" },
  'layer-platform': { file: 'libs/platform/src/metrics/nosy.ts', text: "import '#accounts';" },
  'layer-middle': { file: 'libs/queue/src/nosy.ts', text: "import '#model-store';" },
  'layer-upper': { file: 'libs/jobs/src/nosy.ts', text: "import '#inference/host';" },
  'layer-gateway': { file: 'libs/gateway/src/nosy.ts', text: "import '#modalities';" },
  'layer-console': { file: 'libs/console/src/nosy.ts', text: "import '#modalities';" },
  'console-in-the-api': { file: 'libs/modalities/src/chat/api/pages.ts', text: "import '#console';" },
  'layer-modalities': { file: 'libs/modalities/src/nosy.ts', text: "import '../../../apps/ops/src/main.js';" },
  ...upwardImports('queue', folders.queue),
  ...upwardImports('gateway', folders.gateway),
  ...upwardImports('chat', folders.chat, 'libs/modalities/src/chat/api'),
  'queue-trust-behind-the-contract': {
    file: 'libs/queue/src/replies/trusting.ts',
    text: "import '../trust/signed.js';",
  },
  'queue-enqueues-without-trust': {
    file: 'libs/queue/src/jobs/bull-producer.ts',
    text: "import './trusting-friend.js';",
  },
  'apps-never-import-apps': { file: 'apps/ops/src/nosy.ts', text: "import '../../worker/src/main.js';" },
  'console-imports-nothing-of-the-server': { file: 'apps/console/src/nosy.ts', text: "import '#common';" },
  'browser-packages-in-the-console': { file: 'apps/console/src/kit.ts', text: "import 'openai';" },
  'slices-never-import-slices': {
    file: 'libs/modalities/src/chat/contract/nosy.ts',
    text: "import '../../image/contract/index.js';",
  },
  'slice-sides-stay-apart': { file: 'libs/modalities/src/chat/worker/nosy.ts', text: "import '../api/index.js';" },
  'libraries-through-their-entries': {
    file: 'libs/jobs/src/burglar.ts',
    text: "import '../../accounts/src/account.repository.js';",
  },
  'apps-through-the-entries': {
    file: 'apps/api/src/burglar.ts',
    text: "import '../../../libs/accounts/src/account.repository.js';",
  },
  'entries-by-their-names': { file: 'test/harness/relative.ts', text: "import '../../libs/queue/src/index.js';" },
  'entries-by-their-names-between-libraries': {
    file: 'libs/jobs/src/relative.ts',
    text: "import '../../queue/src/index.js';",
  },
  'api-side-never-reaches-inference': { file: 'apps/api/src/tensor.ts', text: "import './tensor-friend.js';" },
  'only-the-api-speaks-http': { file: 'apps/ops/src/talkative.ts', text: "import './talkative-friend.js';" },
  'modules-in-api-and-ops': { file: 'apps/worker/src/module.ts', text: "import '#accounts/nest';" },
  'nest-behind-its-entries': { file: 'libs/accounts/src/decorated.ts', text: "import '@nestjs/common';" },
  'jobs-knows-no-http': { file: 'libs/jobs/src/route.ts', text: "import 'fastify';" },
  'slices-admit-through-the-pipeline': { file: 'libs/modalities/src/chat/api/shortcut.ts', text: "import '#jobs';" },
  'worker-side-never-reaches-prisma': { file: 'apps/worker/src/sql.ts', text: "import '#accounts';" },
  'host-entry-never-reaches-onnxruntime': { file: 'apps/worker/src/session.ts', text: "import '#inference';" },
  'queries-in-repositories': { file: 'libs/accounts/src/account.presenter.ts', text: "import '#platform/prisma';" },
  'payments-checked-by-the-command-line': { file: 'apps/cli/src/settling.ts', text: "import '#payments/execution';" },
  'payments-executed-in-ops': { file: 'apps/api/src/settling.ts', text: "import '#payments/execution';" },
  'x402-in-facilitators': { file: 'libs/jobs/src/payment.ts', text: "import '@x402/core';" },
  'bullmq-in-queue': { file: 'libs/jobs/src/broker.ts', text: "import 'bullmq';" },
  'onnxruntime-in-runtime': { file: 'libs/inference/src/session.ts', text: "import 'onnxruntime-node';" },
  'image-loaders-in-the-decoder': {
    file: 'libs/media/src/image/decode.ts',
    text: "import './decoder/sharp-loaders.js';",
  },
  'sharp-in-media': { file: 'libs/jobs/src/image.ts', text: "import 'sharp';" },
  'parsers-in-documents': { file: 'libs/jobs/src/page.ts', text: "import 'htmlparser2';" },
  'parsers-in-the-extractor': { file: 'libs/documents/src/nest/index.ts', text: "import '../formats/pdf.js';" },
  'model-memory-imports-common': { file: 'libs/model-memory/src/logged.ts', text: "import '#jobs';" },
  'tee-knows-no-platform': { file: 'libs/tee/src/logged.ts', text: "import '#common';" },
  'aws-sdk-in-storage': { file: 'libs/jobs/src/bucket.ts', text: "import '@aws-sdk/client-s3';" },
  'undici-at-the-edges': { file: 'libs/jobs/src/caller.ts', text: "import 'undici';" },
  'busboy-in-the-parser': { file: 'libs/jobs/src/form.ts', text: "import '@fastify/busboy';" },
  'class-validator-in-validation': { file: 'libs/jobs/src/rule.ts', text: "import 'class-validator';" },
  'prom-client-in-metrics': { file: 'libs/jobs/src/gauge.ts', text: "import 'prom-client';" },
  'opentelemetry-in-tracing': { file: 'libs/queue/src/span.ts', text: "import '@opentelemetry/api';" },
  'pacote-in-model-store': { file: 'libs/jobs/src/tarball.ts', text: "import 'pacote';" },
  'product-never-imports-tests': { file: 'apps/api/src/leaning.ts', text: "import '../../../test/harness/fake.js';" },
  'no-dev-packages-in-product': { file: 'libs/jobs/src/tooling.ts', text: "import 'openai';" },
};

/** Further offences against a rule that has more than one side. */
const moreOffences: { rule: string; file: string; text: string }[] = [
  { rule: 'bullmq-in-queue', file: 'libs/jobs/src/processor.ts', text: "import '@nestjs/bullmq';" },
  { rule: 'only-the-api-speaks-http', file: 'apps/ops/src/gateway.ts', text: "import '#gateway';" },
  { rule: 'only-the-api-speaks-http', file: 'apps/cli/src/gateway.ts', text: "import '#gateway';" },
  { rule: 'layer-middle', file: 'libs/characters/src/nosy.ts', text: "import '#documents';" },
  { rule: 'layer-upper', file: 'libs/jobs/src/upward.ts', text: "import '#gateway';" },
  { rule: 'jobs-knows-no-http', file: 'libs/jobs/src/parsed-form.ts', text: "import '#platform/http';" },
  { rule: 'api-side-never-reaches-inference', file: 'libs/gateway/src/tensor.ts', text: "import '#inference/host';" },
];

/** Files that the violations need; none of them breaks a rule alone. */
const supportingFiles: Record<string, string> = {
  'libs/common/src/ring.ts': "import './ring-back.js';",
  'libs/queue/src/nest/upward.ts': 'export const top = 1;',
  'libs/gateway/src/http/upward.ts': 'export const top = 1;',
  'libs/modalities/src/chat/api/responses/upward.ts': 'export const top = 1;',
  'libs/queue/src/trust/signed.ts': 'export const signed = 1;',
  'libs/queue/src/jobs/trusting-friend.ts': "import '../trust/signed.js';",
  'apps/api/src/tensor-friend.ts': "import '#inference/host';",
  'apps/ops/src/talkative-friend.ts': "import '#accounts/api';",
};

const packages = [
  ...['bullmq', 'onnxruntime-node', 'sharp', 'prom-client', 'pacote', '@prisma/client', 'openai'],
  ...[
    '@nestjs/common',
    '@nestjs/bullmq',
    '@aws-sdk/client-s3',
    '@x402/core',
    'unpdf',
    'htmlparser2',
    'undici',
    '@fastify/busboy',
    '@opentelemetry/api',
    'class-validator',
    'fastify',
  ],
];

/** Writes a project into a new folder and returns the violations that dependency-cruiser reports. */
function cruise(files: Record<string, string>): Violation[] {
  const project = mkdtempSync(join(tmpdir(), 'sluice-boundaries-'));
  try {
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(project, path)), { recursive: true });
      writeFileSync(join(project, path), text);
    };
    const { imports } = createRequire(import.meta.url)(join(root, 'package.json')) as { imports: object };
    const dependencies = Object.fromEntries(
      packages.filter((name) => name !== 'openai').map((name) => [name, '1.0.0']),
    );
    const devDependencies = { openai: '1.0.0' };
    write('package.json', JSON.stringify({ name: 'project', type: 'module', imports, dependencies, devDependencies }));
    for (const name of ['tsconfig.json', 'tsconfig.build.json', '.dependency-cruiser.cjs'])
      cpSync(join(root, name), join(project, name));
    for (const name of packages) {
      write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'index.js' }));
      write(`node_modules/${name}/index.js`, 'module.exports = {};');
    }
    for (const [path, text] of Object.entries(files)) write(path, text);
    return runCruiser(project);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

function runCruiser(project: string): Violation[] {
  const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const args = [cruiser, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'apps', 'libs', 'test'];
  const result = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const report = JSON.parse(result.stdout) as { summary: { violations: Violation[] } };
  return report.summary.violations;
}

describe('module boundaries', () => {
  let found: Violation[] = [];

  beforeAll(() => {
    const planted = [...Object.values(violatingFiles), ...moreOffences].map(({ file, text }) => [file, text] as const);
    found = cruise({ ...skeleton, ...supportingFiles, ...Object.fromEntries(planted) });
  }, 120_000);
  afterAll(() => {
    found = [];
  });

  it('accept a project that obeys them', () => {
    expect(cruise(skeleton)).toEqual([]);
  });

  it.each(Object.entries(violatingFiles))('report %s by its name', (rule, { file }) => {
    expect(found.filter((violation) => violation.from === file).map((violation) => violation.rule.name)).toContain(
      rule,
    );
  });

  it.each(moreOffences)('report $rule in $file', ({ rule, file }) => {
    expect(found.filter((violation) => violation.from === file).map((violation) => violation.rule.name)).toContain(
      rule,
    );
  });

  it('have a violation for every rule', () => {
    const config = createRequire(import.meta.url)(join(root, '.dependency-cruiser.cjs')) as {
      forbidden: { name: string }[];
    };
    expect(Object.keys(violatingFiles).toSorted()).toEqual(config.forbidden.map(({ name }) => name).toSorted());
  });
});
