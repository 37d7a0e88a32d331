// Writes lib/rpc/gen from proto/: message types, codecs and the service definition as plain TypeScript,
// so that nothing looks for a .proto file at run time and no protobuf library is loaded.
// 64-bit fields are bigint. The same input gives the same bytes: CI runs this and expects a clean tree.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import prettier from 'prettier';
import protobuf from 'protobufjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const protos = ['lock'];
/** Written by hand for speed, in lib/rpc/channel-frame.ts; what only they use is theirs too. */
const HAND_WRITTEN = ['ClientFrame', 'ServerFrame'];
const isHandWritten = ({ name }) => HAND_WRITTEN.includes(name) || name.startsWith('Channel');

/** TypeScript type, default, wire type and the name of the reader's and writer's method. */
const SCALARS = {
  string: { type: 'string', zero: "''", wire: 2 },
  bytes: { type: 'Uint8Array', zero: 'new Uint8Array(0)', wire: 2 },
  bool: { type: 'boolean', zero: 'false', wire: 0 },
  int32: { type: 'number', zero: '0', wire: 0 },
  uint32: { type: 'number', zero: '0', wire: 0 },
  int64: { type: 'bigint', zero: '0n', wire: 0 },
  uint64: { type: 'bigint', zero: '0n', wire: 0 },
};

function scalarOf(field) {
  const scalar = SCALARS[field.type];
  if (scalar === undefined && !(field.resolvedType instanceof protobuf.Type)) {
    throw new Error(`${field.fullName}: type ${field.type} is not supported by proto/generate.mjs`);
  }
  if (field.map || field.partOf) throw new Error(`${field.fullName}: maps and oneofs are not supported`);
  if (field.repeated && scalar !== undefined && scalar.wire !== 2) {
    throw new Error(`${field.fullName}: packed fields are not supported`);
  }
  return scalar;
}

const comment = (text, indent = '') => {
  if (!text) return '';
  const lines = text.split('\n');
  return lines.length === 1
    ? `${indent}/** ${lines[0]} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
};
const fieldsOf = (type) => [...type.fieldsArray].sort((a, b) => a.id - b.id);
const tagOf = (field, wire) => field.id * 8 + wire;
const lower = (name) => name[0].toLowerCase() + name.slice(1);

function typeOf(field) {
  const one = scalarOf(field)?.type ?? field.resolvedType.name;
  return field.repeated ? `readonly ${one}[]` : one;
}

const mayBeAbsent = (field) => scalarOf(field) === undefined && !field.repeated;

function declaration(type) {
  const members = fieldsOf(type).map(
    (field) =>
      `${comment(field.comment, '  ')}  readonly ${field.name}${mayBeAbsent(field) ? '?' : ''}: ${typeOf(field)};\n`,
  );
  return `${comment(type.comment)}export interface ${type.name} {\n${members.join('')}}\n`;
}

function writeOne(field, value) {
  const scalar = scalarOf(field);
  if (scalar !== undefined) return `writer.${field.type}(${tagOf(field, scalar.wire)}, ${value});`;
  const start = `start${field.id}`;
  return (
    `const ${start} = writer.begin(${tagOf(field, 2)});\n` +
    `write${field.resolvedType.name}(writer, ${value});\nwriter.end(${start});`
  );
}

function writeField(field) {
  const value = `message.${field.name}`;
  if (field.repeated) return `for (const item of ${value}) {\n${writeOne(field, 'item')}\n}\n`;
  if (mayBeAbsent(field)) return `if (${value} !== undefined) {\n${writeOne(field, value)}\n}\n`;
  return `${writeOne(field, value)}\n`;
}

function readField(field) {
  const scalar = scalarOf(field);
  const value = scalar ? `reader.${field.type}()` : `reader.nested(read${field.resolvedType.name})`;
  const store = field.repeated ? `${field.name}.push(${value});` : `${field.name} = ${value};`;
  return `case ${tagOf(field, scalar?.wire ?? 2)}:\n${store}\nbreak;\n`;
}

function startOf(field) {
  if (field.repeated) return `const ${field.name}: ${typeOf(field).replace('readonly ', '')} = [];\n`;
  if (mayBeAbsent(field)) return `let ${field.name}: ${typeOf(field)} | undefined;\n`;
  return `let ${field.name}${scalarOf(field).type === 'Uint8Array' ? ': Uint8Array' : ''} = ${scalarOf(field).zero};\n`;
}

function resultOf(type) {
  const always = fieldsOf(type).filter((field) => !mayBeAbsent(field));
  const perhaps = fieldsOf(type).filter(mayBeAbsent);
  const names = always.map((field) => field.name);
  const spread = perhaps.map((field) => `...(${field.name} === undefined ? undefined : { ${field.name} })`);
  return `return { ${[...names, ...spread].join(', ')} };\n`;
}

function functionsOf(type) {
  const fields = fieldsOf(type);
  return (
    `function write${type.name}(writer: WireWriter, message: ${type.name}): void {\n${fields.map(writeField).join('')}}\n\n` +
    `function read${type.name}(reader: WireReader): ${type.name} {\n${fields.map(startOf).join('')}` +
    `for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {\nswitch (tag) {\n${fields.map(readField).join('')}` +
    `default:\nreader.skip(tag);\n}\n}\n${resultOf(type)}}\n\n` +
    `export const ${type.name}: Codec<${type.name}> = codec(write${type.name}, read${type.name});\n`
  );
}

function methodOf(method, service) {
  const [request, response] = [method.resolvedRequestType.name, method.resolvedResponseType.name];
  return (
    `${comment(method.comment, '  ')}  ${method.name}: {\n` +
    `path: '/${service.fullName.slice(1)}/${method.name}',\n` +
    `requestStream: ${Boolean(method.requestStream)},\nresponseStream: ${Boolean(method.responseStream)},\n` +
    `requestSerialize: ${request}.encode,\nrequestDeserialize: ${request}.decode,\n` +
    `responseSerialize: ${response}.encode,\nresponseDeserialize: ${response}.decode,\n` +
    `originalName: '${lower(method.name)}',\n` +
    `} satisfies MethodDefinition<${request}, ${response}>,\n`
  );
}

function serviceOf(service) {
  const methods = service.methodsArray.map((method) => methodOf(method.resolve(), service)).join('');
  return (
    `/** Full name of the service, as in every method path. */\nexport const ${lower(service.name)}Name = '${service.fullName.slice(1)}';\n\n` +
    `${comment(service.comment)}export const ${lower(service.name)} = {\n${methods}} as const;\n`
  );
}

function fileOf(name) {
  const parsed = protobuf.parse(readFileSync(`${root}proto/${name}.proto`, 'utf8'), {
    alternateCommentMode: true,
  });
  parsed.root.resolveAll();
  const scope = parsed.root.lookup(parsed.package);
  const types = scope.nestedArray.filter((item) => item instanceof protobuf.Type && !isHandWritten(item));
  const services = scope.nestedArray.filter((item) => item instanceof protobuf.Service);
  return [
    `// Written by proto/generate.mjs from proto/${name}.proto: change that and run \`npm run generate\`.`,
    "import type { MethodDefinition } from '@grpc/grpc-js';",
    `import { ${HAND_WRITTEN.join(', ')} } from '../channel-frame.js';`,
    "import { type Codec, codec } from '../codec.js';",
    "import type { WireReader } from '../wire-reader.js';",
    "import type { WireWriter } from '../wire-writer.js';\n",
    ...types.map((type) => `${declaration(type)}\n${functionsOf(type)}`),
    ...services.map(serviceOf),
  ].join('\n');
}

const style = { ...(await prettier.resolveConfig(`${root}package.json`)), parser: 'typescript' };
rmSync(`${root}lib/rpc/gen`, { recursive: true, force: true });
mkdirSync(`${root}lib/rpc/gen`, { recursive: true });
for (const name of protos) {
  writeFileSync(`${root}lib/rpc/gen/${name}.ts`, await prettier.format(fileOf(name), style));
}
