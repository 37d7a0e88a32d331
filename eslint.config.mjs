import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const clockMessage = 'Take the time from the injected clock (lib/core/clock.ts).';
const randomMessage = 'Take randomness from what is injected.';
const readers = ['setTimeout', 'setInterval', 'setImmediate', 'performance'];

export default defineConfig(
  { ignores: ['dist/**', '.build/**', '.cache/**', 'coverage/**', 'lib/rpc/gen/**', 'test/api/compat/*/**'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none' },
      ],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
    },
  },
  {
    files: ['lib/**/*.ts'],
    // the places that everything else takes time and chance from
    ignores: [
      'lib/core/clock.ts',
      'lib/core/fake-clock.ts',
      'lib/core/random.ts',
      'lib/**/*.spec.ts',
      'lib/**/*.spec-support.ts',
    ],
    rules: {
      'no-restricted-globals': ['error', ...readers.map((name) => ({ name, message: clockMessage }))],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: clockMessage },
        { object: 'Math', property: 'random', message: randomMessage },
        { object: 'process', property: 'hrtime', message: clockMessage },
        { object: 'process', property: 'uptime', message: clockMessage },
        ...readers.map((property) => ({ object: 'globalThis', property, message: clockMessage })),
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: clockMessage },
        { selector: "MetaProperty[meta.name='import']", message: 'The CommonJS build has no import.meta.' },
      ],
      'no-restricted-imports': [
        'error',
        { paths: ['node:timers', 'timers', 'node:timers/promises', 'timers/promises', 'node:perf_hooks'] },
      ],
    },
  },
  {
    files: ['**/*.spec.ts', '**/*.spec-support.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'max-lines-per-function': ['error', { max: 500, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'sample-app/**/*.ts', 'lib/cli/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['**/*.mjs', '**/*.cjs', '**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        module: 'writable',
        require: 'readonly',
        fetch: 'readonly',
        performance: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        setInterval: 'readonly',
        clearInterval: 'readonly',
        setImmediate: 'readonly',
        AbortSignal: 'readonly',
        AbortController: 'readonly',
        structuredClone: 'readonly',
      },
    },
  },
);
