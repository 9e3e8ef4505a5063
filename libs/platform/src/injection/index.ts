import 'reflect-metadata';

/*
 * The decorators that an injectable class needs, by deep imports: the index of @nestjs/common loads the whole framework
 * (about 400 ms), and worker, cli, model host and local load these classes without it (docs/decisions/nest-modules.md).
 */
export { Inject } from '@nestjs/common/decorators/core/inject.decorator.js';
export { Injectable } from '@nestjs/common/decorators/core/injectable.decorator.js';
export { Optional } from '@nestjs/common/decorators/core/optional.decorator.js';
