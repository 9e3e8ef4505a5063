'use strict';

/*
 * The functions of `@prisma/internals` that `@prisma/client-generator-ts` calls. The package of that name brings the engines,
 * the configuration and the prompts of Prisma's command line, which nothing here needs (docs/decisions/plain-start.md).
 */

const { externalToInternalDmmf, getInternalDMMF } = require('@prisma/get-dmmf');

module.exports = {
  externalToInternalDmmf,
  getInternalDMMF: async (options) => {
    const document = getInternalDMMF(options);
    if (document.error) throw document.error;
    return document;
  },
  assertNever: (_value, message) => {
    throw new Error(message);
  },
  hasOwnProperty: (object, key) => Object.hasOwn(object, key),
  isValidJsIdentifier: (text) => /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(text),
  // The schema names no variable of the environment.
  parseEnvValue: ({ value }) => value,
  pathToPosix: (path) => path.replaceAll('\\', '/'),
  setClassName: (target, name) => Object.defineProperty(target, 'name', { value: name, configurable: true }),
};
