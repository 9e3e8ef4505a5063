/*
 * The module boundaries. Imports point left only:
 *   common < model-memory, platform < queue, accounts, model-registry, model-store, … < jobs, inference, web, chains, payments < gateway < console, modalities < apps
 * `test/architecture/module-boundaries.spec.ts` plants an offence against each rule and expects the rule's name.
 */

const tests =
  '(^test/|^bench/|/__fixtures__/|[.](spec|int-spec|e2e-spec|models-spec|nightly-spec|chains-spec|clients-spec|console-spec|conformance)[.]ts$)';
const middle =
  'egress|queue|storage|media|documents|model-registry|model-store|rate-limit|accounts|billing|characters|tee';
const upper = 'backup|jobs|inference|web|chains|payments';

/** What other libraries may import from a library. */
const entries = [
  '^libs/(platform|modalities)/src/[^/]+/index[.]ts$',
  '^libs/modalities/src/catalog[.]ts$',
  '^libs/modalities/src/[^/]+/(contract|api|worker)/index[.]ts$',
  `^libs/(common|model-memory|${middle}|${upper}|gateway|console)/src/index[.]ts$`,
  '^libs/common/src/(json-schema|values)/index[.]ts$',
  '^libs/gateway/src/(access-log|errors|inputs|moderation|responses|tee)/index[.]ts$',
  '^libs/(accounts|billing|characters|model-registry|payments|rate-limit)/src/api/index[.]ts$',
  '^libs/[^/]+/src/nest/index[.]ts$',
  '^libs/queue/src/(checks|workers|trust/(pools|signing))/index[.]ts$',
  '^libs/billing/src/usage/index[.]ts$',
  '^libs/jobs/src/(inspection|store-checks)/index[.]ts$',
  '^libs/queue/src/nest/job-results/index[.]ts$',
  '^libs/model-registry/src/(installations|manifest|matting)/index[.]ts$',
  '^libs/payments/src/(checks|execution)/index[.]ts$',
  '^libs/model-store/src/(adapter|catalog|device|memory|reference|voices)/index[.]ts$',
  '^libs/inference/src/(host|output|tasks|trials)/index[.]ts$',
  '^libs/tee/src/sealing/index[.]ts$',
];

/** Data part of model-registry: libraries of the middle layer may also read manifests. */
const manifestEntry = '^libs/model-registry/src/(manifest|matting)/';

const apiSide = '^(apps/(api|ops)/|libs/(gateway|console)/|libs/modalities/src/[^/]+/(api|contract)/)';
const workerSide = '^(apps/worker/|libs/modalities/src/[^/]+/worker/|libs/inference/)';
const prisma = ['(^|/)node_modules/(@prisma|[.]prisma)/', '^@prisma/', '^libs/platform/src/prisma/'];

const package_ = (names) => [`(^|/)node_modules/(${names})/`, `^(${names})(/|$)`];

/** One owner per heavy package: only `owner` may import it. */
const oneOwner = (name, packages, owner) => ({
  name,
  severity: 'error',
  comment: `Only ${owner} imports ${packages}.`,
  from: { path: '^(apps|libs)/', pathNot: [owner, tests] },
  to: { path: package_(packages) },
});

/** One rule for each folder of `root` but the last: a folder imports those before it, and none behind it. */
const inOrder = (name, root, folders) =>
  folders.slice(0, -1).map((folder, index) => ({
    name: `${name}-order-${folder}`,
    severity: 'error',
    comment: `The folders of ${root} import those before them: ${folders.join(', ')}.`,
    from: { path: `^${root}/${folder}/`, pathNot: tests },
    to: { path: `^${root}/(${folders.slice(index + 1).join('|')})/` },
  }));

const queueFolders = [
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
];

const gatewayFolders = [
  ...['request', 'access-log', 'wallets', 'errors', 'access', 'sharing', 'limits', 'idempotency', 'pipeline'],
  ...['responses', 'inputs', 'media', 'moderation', 'augment', 'crypto-rpc', 'tee', 'http'],
];

const chatFolders = ['job', 'inputs', 'characters', 'web', 'chat', 'completions', 'messages', 'responses'];

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment:
        'Cyclic imports: merge the files or extract the shared part. Files of the simulation may name the types of the whole.',
      from: { pathNot: '^test/simulation/' },
      to: { circular: true },
    },
    {
      name: 'resolvable',
      severity: 'error',
      comment:
        'Every import resolves to a file or a declared package. The bench peers and the client libraries have packages of their own.',
      from: {
        path: '^(apps|libs|test|bench)/',
        pathNot: '^(bench/peers|test/clients/(libraries|wallets)|test/chains/programs)/',
      },
      to: { couldNotResolve: true, dependencyTypesNot: ['core', 'type-only'] },
    },
    {
      name: 'layer-common',
      severity: 'error',
      comment: 'common imports no other library.',
      from: { path: '^libs/common/', pathNot: tests },
      to: { path: '^(apps|libs)/', pathNot: '^libs/common/' },
    },
    {
      name: 'model-memory-imports-common',
      severity: 'error',
      comment: 'Formulas of memory are pure: worker, command line and registry compute with the same ones.',
      from: { path: '^libs/model-memory/', pathNot: tests },
      to: { path: ['^(apps|libs)/', 'node_modules'], pathNot: '^libs/(common|model-memory)/' },
    },
    {
      name: 'layer-platform',
      severity: 'error',
      comment: 'platform imports common only.',
      from: { path: '^libs/platform/', pathNot: tests },
      to: { path: '^(apps|libs)/', pathNot: '^libs/(common|platform)/' },
    },
    {
      name: 'layer-middle',
      severity: 'error',
      comment: 'Libraries of the middle layer import common, platform and the manifests, but not each other.',
      from: { path: `^libs/(${middle})/`, pathNot: tests },
      to: { path: '^(apps|libs)/', pathNot: ['^libs/(common|model-memory|platform)/', '^libs/$1/', manifestEntry] },
    },
    {
      name: 'layer-upper',
      severity: 'error',
      comment: 'backup, jobs, inference, web, chains and payments import the layers below, but not each other.',
      from: { path: `^libs/(${upper})/`, pathNot: tests },
      to: { path: '^(apps|libs)/', pathNot: [`^libs/(common|model-memory|platform|${middle})/`, '^libs/$1/'] },
    },
    {
      name: 'layer-gateway',
      severity: 'error',
      comment: 'gateway knows jobs, web, chains, payments and the libraries below them, no slice and no app.',
      from: { path: '^libs/gateway/', pathNot: tests },
      to: {
        path: '^(apps|libs)/',
        pathNot: [`^libs/(common|model-memory|platform|${middle}|jobs|web|chains|payments|gateway)/`],
      },
    },
    {
      name: 'layer-console',
      severity: 'error',
      comment: 'console knows gateway and the libraries below it, no slice, no tensors and no app.',
      from: { path: '^libs/console/', pathNot: tests },
      to: {
        path: '^(apps|libs)/',
        pathNot: [`^libs/(common|model-memory|platform|${middle}|jobs|web|chains|payments|gateway|console)/`],
      },
    },
    {
      name: 'console-in-the-api',
      severity: 'error',
      comment: 'Only the api serves the console.',
      from: { path: '^(apps|libs)/', pathNot: ['^apps/api/', '^libs/console/', tests] },
      to: { path: '^libs/console/' },
    },
    {
      name: 'layer-modalities',
      severity: 'error',
      comment: 'modalities may import every library, but no app.',
      from: { path: '^libs/modalities/', pathNot: tests },
      to: { path: '^apps/' },
    },
    ...inOrder('queue', 'libs/queue/src', queueFolders),
    ...inOrder('gateway', 'libs/gateway/src', gatewayFolders),
    ...inOrder('chat', 'libs/modalities/src/chat/api', chatFolders),
    {
      name: 'queue-trust-behind-the-contract',
      severity: 'error',
      comment:
        'Signatures, seals and pools are known to the stores and to composition. Everything else sees them through ' +
        'contract/; only a delivery signs its result itself.',
      from: {
        path: '^libs/queue/src/',
        pathNot: ['^libs/queue/src/(trust|stores|transport)/', '^libs/queue/src/jobs/job-delivery[.]ts$', tests],
      },
      to: { path: '^libs/queue/src/trust/' },
    },
    {
      name: 'queue-enqueues-without-trust',
      severity: 'error',
      comment: 'Whoever reads how a job is enqueued never enters trust/.',
      from: { path: '^libs/queue/src/(contract/|jobs/bull-producer[.]ts$)', pathNot: tests },
      to: { path: '^libs/queue/src/trust/', reachable: true },
    },
    {
      name: 'apps-never-import-apps',
      severity: 'error',
      comment: 'Apps are composition roots; code that two apps need belongs in a library.',
      from: { path: '^apps/([^/]+)/', pathNot: tests },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'console-imports-nothing-of-the-server',
      severity: 'error',
      comment: 'The console runs in a browser and knows the service by its HTTP API only.',
      from: { path: '^apps/console/' },
      to: { path: '^(libs|test|bench|scripts)/' },
    },
    {
      name: 'browser-packages-in-the-console',
      severity: 'error',
      comment:
        'Pages import Preact and uPlot, which their build bundles. A page has no other package, and no Node module.',
      from: { path: '^apps/console/src/', pathNot: tests },
      to: { dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'core'], pathNot: 'node_modules/(preact|uplot)/' },
    },
    {
      name: 'slices-never-import-slices',
      severity: 'error',
      comment: 'A modality is one folder; code that two modalities need belongs in a library.',
      from: { path: '^libs/modalities/src/([^/]+)/' },
      to: { path: '^libs/modalities/src/[^/]+/', pathNot: '^libs/modalities/src/$1/' },
    },
    {
      name: 'slice-sides-stay-apart',
      severity: 'error',
      comment: 'Within a slice, api and worker import the contract; the contract imports neither.',
      from: { path: '^libs/modalities/src/([^/]+)/(contract|api|worker)/', pathNot: tests },
      to: {
        path: '^libs/modalities/src/$1/(contract|api|worker)/',
        pathNot: ['^libs/modalities/src/$1/(contract|$2)/'],
      },
    },
    {
      name: 'libraries-through-their-entries',
      severity: 'error',
      comment: 'Other libraries are imported through their entry point, never by an internal file.',
      from: { path: '^libs/([^/]+)/' },
      to: { path: '^libs/', pathNot: ['^libs/$1/', ...entries] },
    },
    {
      name: 'apps-through-the-entries',
      severity: 'error',
      comment: 'Apps, tests and benches import a library through its entry point.',
      from: { path: '^(apps|test|bench)/' },
      to: { path: '^libs/', pathNot: entries },
    },
    {
      name: 'entries-by-their-names',
      severity: 'error',
      comment: 'A library is imported as #name, so that it can be moved.',
      from: { path: '^(apps|test|bench)/' },
      to: { path: '^libs/', dependencyTypesNot: ['aliased-subpath-import'] },
    },
    {
      name: 'entries-by-their-names-between-libraries',
      severity: 'error',
      comment: 'A library is imported as #name, so that it can be moved.',
      from: { path: '^libs/([^/]+)/' },
      to: { path: '^libs/', pathNot: '^libs/$1/', dependencyTypesNot: ['aliased-subpath-import'] },
    },
    {
      name: 'api-side-never-reaches-inference',
      severity: 'error',
      comment: 'HTTP code must not import tensor code.',
      from: { path: apiSide, pathNot: tests },
      to: { path: '^libs/inference/', reachable: true },
    },
    {
      name: 'only-the-api-speaks-http',
      severity: 'error',
      comment:
        'Controllers and their documents load the whole framework, which other processes must not load at start.',
      from: { path: ['^apps/(ops|worker|cli|local)/', '^libs/modalities/src/catalog[.]ts$'], pathNot: tests },
      to: {
        path: [
          ...['^libs/[^/]+/src/api/', '^libs/modalities/src/[^/]+/api/', '^libs/platform/src/http/'],
          '^libs/(gateway|console)/',
        ],
        reachable: true,
      },
    },
    {
      name: 'jobs-knows-no-http',
      severity: 'error',
      comment: 'Every process uses jobs. HTTP belongs to gateway; only a Nest module of jobs may import the framework.',
      from: { path: '^libs/jobs/', pathNot: ['[.]module[.]ts$', tests] },
      to: { path: [...package_('fastify|@fastify|@nestjs'), '^libs/platform/src/http/'] },
    },
    {
      name: 'modules-in-api-and-ops',
      severity: 'error',
      comment: 'Modules load the framework (about 400 ms), which the other processes would pay for at each start.',
      from: { path: ['^apps/(worker|cli|local)/', '^libs/modalities/src/catalog[.]ts$'], pathNot: tests },
      to: { path: '^libs/[^/]+/src/nest/', reachable: true },
    },
    {
      name: 'nest-behind-its-entries',
      severity: 'error',
      comment:
        'Classes that every process loads take their decorators from #platform/injection (docs/decisions/nest-modules.md).',
      from: {
        path: '^libs/',
        pathNot: [
          '^libs/[^/]+/src/(nest|api)/',
          '^libs/modalities/src/[^/]+/(api|contract)/',
          '^libs/(gateway|console)/',
          '^libs/platform/src/(http|injection|wallets)/',
          tests,
        ],
      },
      to: { path: package_('@nestjs/[^/]+'), dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'slices-admit-through-the-pipeline',
      severity: 'error',
      comment: 'The request pipeline of gateway admits jobs after their limits; a slice has no other way to one.',
      from: { path: '^libs/modalities/src/[^/]+/api/', pathNot: tests },
      to: { path: '^libs/(jobs|rate-limit|queue)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'worker-side-never-reaches-prisma',
      severity: 'error',
      comment: 'GPU nodes have no database password.',
      from: { path: workerSide, pathNot: tests },
      to: { path: prisma, reachable: true },
    },
    {
      name: 'host-entry-never-reaches-onnxruntime',
      severity: 'error',
      comment:
        'The parent of model hosts must not load the runtime: its calls would block the event loop that renews locks.',
      from: {
        path: '^(apps/worker/|libs/inference/src/(host|output|tasks|trials)/index[.]ts$)',
        pathNot: [tests, '^apps/worker/src/model-host'],
      },
      to: { path: package_('onnxruntime-node|onnxruntime-common'), reachable: true },
    },
    {
      name: 'queries-in-repositories',
      severity: 'error',
      comment:
        'Prisma is used in *.repository.ts; modules and mains hand it out, services are injected with it for their ' +
        'repository (test/architecture/queries.spec.ts keeps queries out of them), and others may name its type.',
      from: {
        path: '^(apps|libs)/',
        pathNot: [
          '[.](repository|service)[.]ts$',
          '^libs/platform/src/',
          '[.]module[.]ts$',
          '(^|/)main[.]ts$',
          '^apps/',
          tests,
        ],
      },
      to: { path: prisma, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'payments-executed-in-ops',
      severity: 'error',
      comment:
        'Only ops verifies and settles payments: keys and chain packages load nowhere else. The command line checks settings.',
      from: {
        path: ['^apps/(api|worker|local)/', '^libs/gateway/', '^libs/payments/src/(api|nest)/'],
        pathNot: tests,
      },
      to: {
        path: '^libs/payments/src/(execution|facilitator)/',
        pathNot: '^libs/payments/src/facilitator/facilitator[.]ts$',
        reachable: true,
      },
    },
    {
      name: 'payments-checked-by-the-command-line',
      severity: 'error',
      comment: 'The command line checks settings of payments, and executes none.',
      from: { path: '^apps/cli/', pathNot: tests },
      to: { path: '^libs/payments/src/execution/' },
    },
    oneOwner('x402-in-facilitators', '@x402/[^/]+', '^libs/payments/src/facilitator/'),
    oneOwner('bullmq-in-queue', 'bullmq|@nestjs/bullmq', '^libs/queue/'),
    oneOwner('onnxruntime-in-runtime', 'onnxruntime-node|onnxruntime-common', '^libs/inference/src/runtime/'),
    oneOwner('sharp-in-media', 'sharp', '^libs/media/'),
    {
      name: 'image-loaders-in-the-decoder',
      severity: 'error',
      comment: 'Images of clients are decoded in a child process with limits, and their loaders load nowhere else.',
      from: { path: '^(apps|libs)/', pathNot: '^libs/media/src/image/decoder/decode[.]main[.]ts$' },
      to: { path: '^libs/media/src/image/decoder/(sharp-loaders|decode[.]main)[.]ts$' },
    },
    oneOwner('parsers-in-documents', 'unpdf|htmlparser2|defuddle|linkedom|turndown', '^libs/documents/'),
    {
      name: 'parsers-in-the-extractor',
      severity: 'error',
      comment: 'Parsers of documents run in the extractor, a child process with limits, and load nowhere else.',
      from: { path: '^libs/documents/src/(nest/)?index[.]ts$' },
      to: { path: package_('unpdf|htmlparser2|defuddle|linkedom|turndown'), reachable: true },
    },
    {
      name: 'tee-knows-no-platform',
      severity: 'error',
      comment: 'Keys and formats of attestation are pure: a verifier may use them without anything of the platform.',
      from: { path: '^libs/tee/', pathNot: tests },
      to: { path: '^(apps|libs)/', pathNot: '^libs/tee/' },
    },
    oneOwner('aws-sdk-in-storage', '@aws-sdk|@smithy', '^libs/storage/'),
    oneOwner('undici-at-the-edges', 'undici', '^libs/(egress|model-store)/'),
    oneOwner('busboy-in-the-parser', '@fastify/busboy|busboy', '^apps/api/src/http/'),
    oneOwner('class-validator-in-validation', 'class-validator', '^libs/platform/src/validation/'),
    oneOwner('prom-client-in-metrics', 'prom-client', '^libs/platform/src/metrics/'),
    oneOwner('opentelemetry-in-tracing', '@opentelemetry', '^libs/platform/src/tracing/'),
    oneOwner('pacote-in-model-store', 'pacote|@huggingface/hub', '^libs/model-store/'),
    {
      name: 'product-never-imports-tests',
      severity: 'error',
      comment: 'Production code must not import the test harness or the benches.',
      from: { path: '^(apps|libs)/', pathNot: tests },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'no-dev-packages-in-product',
      severity: 'error',
      comment: 'Production code imports dependencies, not devDependencies.',
      // The packages of the console are bundled into its pages.
      from: { path: '^(apps|libs)/', pathNot: [tests, '^apps/console/'] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: 'node_modules/@types/' },
    },
  ],
  options: {
    doNotFollow: { path: '(^|/)(node_modules|generated)/' },
    exclude: { path: '(^|/)dist/' },
    tsPreCompilationDeps: true,
    // Without `paths`, so that a library counts as entered by its #name in package.json.
    tsConfig: { fileName: 'tsconfig.build.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['sluice-source', 'import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
