import type { ManifestFile, ManifestSource, ModelManifest } from './manifest.js';
import type { ManifestProblem } from './manifest-problem.js';
import { mattingFamilies, readMattingNetwork } from '../matting/matting-network.js';
import { pricingProblems } from './pricing-rules.js';
import { tierProblems } from './tier-rules.js';

type Problem = ManifestProblem | false | undefined;

type Rule = (manifest: ModelManifest) => Problem[];

const capabilityRules: Rule = ({ capabilities }) => [
  capabilities.supportsE2EE &&
    !capabilities.supportsTeeAttestation && {
      path: 'capabilities.supportsE2EE',
      message: 'needs supportsTeeAttestation',
    },
  capabilities.supportsMultipleImages &&
    !capabilities.supportsVision && {
      path: 'capabilities.supportsMultipleImages',
      message: 'needs supportsVision',
    },
  capabilities.supportsVideoInput &&
    !capabilities.supportsVision && {
      path: 'capabilities.supportsVideoInput',
      message: 'needs supportsVision',
    },
  capabilities.supportsResponseSchema &&
    !capabilities.supportsFunctionCalling && {
      path: 'capabilities.supportsResponseSchema',
      message: 'needs supportsFunctionCalling',
    },
  ...(['reasoningEffortOptions', 'defaultReasoningEffort'] as const).map(
    (field) =>
      capabilities[field] !== undefined &&
      !capabilities.supportsReasoningEffort && {
        path: `capabilities.${field}`,
        message: 'needs supportsReasoningEffort',
      },
  ),
  capabilities.defaultReasoningEffort !== undefined &&
    capabilities.reasoningEffortOptions !== undefined &&
    !capabilities.reasoningEffortOptions.includes(capabilities.defaultReasoningEffort) && {
      path: 'capabilities.defaultReasoningEffort',
      message: 'must be one of reasoningEffortOptions',
    },
];

const reasoningRules: Rule = ({ reasoning, capabilities }) => {
  if (reasoning === undefined) return [];
  const { open, close, budgets } = reasoning;
  const options = capabilities.reasoningEffortOptions ?? [];
  return [
    !capabilities.supportsReasoning && { path: 'reasoning', message: 'needs capabilities.supportsReasoning' },
    (open === undefined) !== (close === undefined) && {
      path: open === undefined ? 'reasoning.open' : 'reasoning.close',
      message: 'is required: name both delimiters or none',
    },
    ...Object.keys(budgets ?? {}).map(
      (effort) =>
        !options.includes(effort) && {
          path: `reasoning.budgets.${effort}`,
          message: 'must be one of capabilities.reasoningEffortOptions',
        },
    ),
  ];
};

const textRules: Rule = (manifest) => {
  if (manifest.type !== 'text') return [];
  const required = ['contextLength', 'maxCompletionTokens', 'constraints', 'pricing'] as const;
  const { contextLength, maxCompletionTokens } = manifest;
  return [
    ...required.map(
      (field) => manifest[field] === undefined && { path: field, message: 'is required for text models' },
    ),
    contextLength !== undefined &&
      maxCompletionTokens !== undefined &&
      maxCompletionTokens > contextLength && {
        path: 'maxCompletionTokens',
        message: 'must not be greater than contextLength',
      },
  ];
};

const inputAdapterRules: Rule = ({ type, inputAdapters, adapts, internal }) => [
  adapts !== undefined && internal !== true && { path: 'adapts', message: 'is only for internal models' },
  adapts === 'image' && type !== 'image' && { path: 'adapts', message: 'image is only for models of type image' },
  new Set(inputAdapters?.image).size < (inputAdapters?.image?.length ?? 0) && {
    path: 'inputAdapters.image',
    message: 'must name each model once',
  },
  inputAdapters !== undefined && type !== 'text' && { path: 'inputAdapters', message: 'is only for text models' },
];

/** The type of a model that classifies an input of this kind. */
const classifierTypes = { text: 'embedding', image: 'image' } as const;

const classifierRules: Rule = ({ type, classifies, internal, familyOptions }) => {
  if (classifies === undefined) return [];
  const wanted = classifierTypes[classifies];
  const labels = String(familyOptions?.['labels'] ?? '').split(',');
  return [
    internal !== true && { path: 'classifies', message: 'is only for internal models' },
    type !== wanted && { path: 'classifies', message: `${classifies} is only for models of type ${wanted}` },
    classifies === 'text' &&
      labels.filter((label) => /^[a-z0-9_/-]+$/.test(label)).length < Math.max(2, labels.length) && {
        path: 'familyOptions.labels',
        message: 'must name two or more classes of a-z, 0-9, "_", "-" and "/" with commas, the harmless one first',
      },
  ];
};

const mattingRules: Rule = ({ type, family, familyOptions }) =>
  type === 'inpaint' && mattingFamilies.includes(family) ? readMattingNetwork(family, familyOptions).problems : [];

const requiredShapes: Partial<Record<ModelManifest['type'], ('constraints' | 'pricing' | 'kindMembers')[]>> = {
  image: ['constraints', 'pricing'],
  inpaint: ['constraints', 'pricing'],
  video: ['constraints', 'kindMembers'],
  embedding: ['pricing', 'kindMembers'],
  rerank: ['pricing', 'kindMembers'],
};

const shapeRules: Rule = (manifest) => [
  ...(manifest.internal ? [] : (requiredShapes[manifest.type] ?? [])).map(
    (field) => manifest[field] === undefined && { path: field, message: `is required for ${manifest.type} models` },
  ),
  manifest.type === 'music' &&
    manifest.pricing !== undefined &&
    Object.keys(manifest.pricing).length !== 1 && {
      path: 'pricing',
      message: 'must be exactly one of generation, durations, per_second, per_thousand_characters',
    },
];

/** Settings of the host, which an adapter shares with its base. */
const settingsOfBase = ['slots', 'cacheTokens', 'familyOptions', 'toolStyle'] as const;

const adapterRules: Rule = (manifest) => {
  const { id, adapterOf, type, family, converter, reasoning } = manifest;
  const isLora = converter.kind === 'lora';
  if (adapterOf === undefined) return [isLora && { path: 'adapterOf', message: 'is required: the id of its base' }];
  return [
    !isLora && { path: 'converter.kind', message: 'must be lora for a model with adapterOf' },
    type !== 'text' && { path: 'adapterOf', message: 'is only for text models' },
    family !== 'decoder' && { path: 'family', message: 'must be decoder for a model with adapterOf' },
    adapterOf === id && { path: 'adapterOf', message: 'must be another model' },
    ...settingsOfBase.map(
      (field) => manifest[field] !== undefined && { path: field, message: 'is that of the base; set it there' },
    ),
    (reasoning?.open !== undefined || reasoning?.close !== undefined) && {
      path: 'reasoning',
      message: 'may only have budgets: the delimiters are those of the base',
    },
  ];
};

const traitRules: Rule = ({ traits }) =>
  Object.entries(traits ?? {}).flatMap(([name, rank]) => [
    !/^[a-z0-9_]+$/.test(name) && { path: `traits.${name}`, message: 'may hold a-z, 0-9 and "_"' },
    !Number.isInteger(rank) && { path: `traits.${name}`, message: 'must be a whole number, the rank' },
  ]);

const sourceRules: Rule = ({ sources }) =>
  sources.flatMap((source, index) => [
    ...problemsOfSource(source, `sources[${index}]`),
    ...problemsOfMirrors(source, `sources[${index}]`),
  ]);

function problemsOfSource({ uri, files, integrity }: ManifestSource, path: string): Problem[] {
  const mayBeEmpty = uri.startsWith('hf:') || uri.startsWith('file:');
  return [
    files.length === 0 && !mayBeEmpty && { path: `${path}.files`, message: 'must name at least one file' },
    integrity !== undefined &&
      !isOneDownload(uri) && {
        path: `${path}.integrity`,
        message: 'is checked for npm:, pypi: and a url of one file alone; give each file its sha256',
      },
  ];
}

/** A mirror is anybody's copy, so only the hashes of the mirrored files make it safe. */
function problemsOfMirrors({ files, mirrors = [] }: ManifestSource, path: string): Problem[] {
  if (mirrors.length === 0) return [];
  const isPinned = files.length > 0 && files.every(({ sha256 }) => sha256 !== undefined);
  return [
    !isPinned && { path: `${path}.files`, message: 'must give each file its sha256, because the source has mirrors' },
    ...mirrors.flatMap(({ sources, concat = [] }, index) => {
      const at = `${path}.mirrors[${index}]`;
      const fetched = new Set([
        ...concat.map(({ as }) => as),
        ...sources.flatMap((mirror) => mirror.files.map(nameOfFile)),
      ]);
      const missing = files.map(nameOfFile).filter((name) => !fetched.has(name));
      return [
        ...sources.flatMap((mirror, place) => problemsOfSource(mirror, `${at}.sources[${place}]`)),
        missing.length > 0 && { path: at, message: `must hold the same files; ${missing.join(', ')} is missing` },
      ];
    }),
  ];
}

function nameOfFile({ path, as }: ManifestFile): string {
  return as ?? path;
}

/** True for sources that are a single byte stream, which an integrity value can cover. */
function isOneDownload(uri: string): boolean {
  if (/^(npm|pypi):/.test(uri)) return true;
  return /^https?:/.test(uri) && !(URL.canParse(uri) && new URL(uri).pathname.endsWith('/'));
}

const deprecationRules: Rule = ({ id, deprecation }) => [
  deprecation?.autoRemap &&
    !deprecation.replacementModelId && { path: 'deprecation.autoRemap', message: 'needs replacementModelId' },
  deprecation !== undefined &&
    Date.parse(deprecation.date) !== Date.parse(deprecation.removesAt) && {
      path: 'deprecation.date',
      message: 'must be the same as removesAt',
    },
  deprecation?.replacementModelId === id && {
    path: 'deprecation.replacementModelId',
    message: 'must be another model',
  },
];

const rules: Rule[] = [
  capabilityRules,
  reasoningRules,
  textRules,
  inputAdapterRules,
  classifierRules,
  mattingRules,
  shapeRules,
  adapterRules,
  pricingProblems,
  tierProblems,
  traitRules,
  sourceRules,
  deprecationRules,
];

/** Checks the rules that involve more than one field. Returns no problems if all hold. */
export function findManifestProblems(manifest: ModelManifest): ManifestProblem[] {
  return rules.flatMap((rule) => rule(manifest)).filter((problem) => typeof problem === 'object');
}

/** The same for a manifest with wrong fields: rules that cannot read them are passed over. */
export function findFurtherProblems(manifest: ModelManifest): ManifestProblem[] {
  const applied = rules.flatMap((rule) => {
    try {
      return rule(manifest);
    } catch (error) {
      if (error instanceof TypeError) return [];
      throw error;
    }
  });
  return applied.filter((problem) => typeof problem === 'object');
}
