export {
  type CheckedSchema,
  checkSchema,
  outsideReference,
  referenceProblem,
  type SchemaNote,
} from './check-schema.js';
export { isSchemaObject, modernSchema, type SchemaObject, writtenKeyword } from './schema-forms.js';
export {
  examineKeywords,
  excludedBy,
  forbidsEverything,
  hasCondition,
  ignoredKeywords,
  type KeywordFinding,
  numberFormats,
  patternedFormats,
  type StringFormat,
  stringFormats,
  withoutKeywords,
} from './schema-keywords.js';
export { type OtherMember, otherMember, SchemaNegations } from './schema-negation.js';
export { type Resolved, pointerStep, SchemaReferences } from './schema-references.js';
export { canonicalJson, SchemaValidator } from './schema-validator.js';
