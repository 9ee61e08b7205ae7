// What every script finds: console, help, servers, args. Evaluated before any script, in a function of
// its own. Whatever it needs of the language is taken here, since a script may change the originals;
// that is for the script's own good: the host believes nothing that comes from here.
(function (native) {
  'use strict';
  const { parse, stringify } = JSON;
  const { create, defineProperty, freeze } = Object;
  const { isArray } = Array;
  const { apply } = Reflect;
  const root = globalThis;
  const RealError = Error, RealTypeError = TypeError, RealRangeError = RangeError;
  const RealMap = Map, RealSet = Set, RealRegExp = RegExp, text = String;
  const wellFormed = String.prototype.toWellFormed;
  const eachOfMap = Map.prototype.forEach, eachOfSet = Set.prototype.forEach;
  const RealWeakRef = WeakRef, { deref } = WeakRef.prototype, RealArrayBuffer = ArrayBuffer;
  const isNumber = Number.isFinite;
  const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;
  const matches = RegExp.prototype.test;
  const well = (it) => apply(wellFormed, it, []);

  const named = (Class, name) => {
    defineProperty(Class.prototype, 'name', { value: name, configurable: true, writable: true });
    return Class;
  };
  const Denied = named(class Denied extends RealError {}, 'Denied');
  const ToolError = named(class ToolError extends RealError {}, 'ToolError');

  const describe = (error) => {
    const name = text(error.name), message = text(error.message);
    return message === '' ? name : `${name}: ${message}`;
  };

  // JSON with what JSON leaves out.
  const readable = function (key, value) {
    switch (typeof value) {
      case 'bigint': return `${value}n`;
      case 'function': return `[function ${value.name}]`;
      case 'symbol': return text(value);
      case 'number': return isNumber(value) ? value : text(value);
      case 'object': {
        if (value === null) return null;
        if (value instanceof RealError) return describe(value);
        if (value instanceof RealRegExp) return text(value);
        if (value instanceof RealMap) {
          const entries = create(null);
          apply(eachOfMap, value, [(it, at) => {
            entries[typeof at === 'object' ? stringify(at, readable) : text(at)] = it;
          }]);
          return entries;
        }
        if (value instanceof RealSet) {
          const items = [];
          let n = 0;
          apply(eachOfSet, value, [(it) => {
            defineProperty(items, n++, { value: it, enumerable: true });
          }]);
          return items;
        }
        return value;
      }
      default: return value;
    }
  };

  const show = (value) => {
    switch (typeof value) {
      case 'string': return well(value);
      case 'bigint': return `${value}n`;
      case 'function': return `[function ${value.name}]`;
      case 'object': {
        if (value === null) return 'null';
        if (value instanceof RealError) return well(describe(value));
        try {
          const shown = stringify(value, readable, 2);
          return shown === undefined ? 'undefined' : well(shown);
        } catch (error) {
          return `[an object that cannot be shown: ${well(describe(error))}]`;
        }
      }
      default: return well(text(value));
    }
  };

  const fixed = (object, name, value) => {
    defineProperty(object, name, { value, enumerable: true, writable: false, configurable: false });
  };

  const print = (...values) => {
    let line = '';
    for (let n = 0; n < values.length; n++) line += (n === 0 ? '' : ' ') + show(values[n]);
    native.print(line);
  };
  const console = create(null);
  fixed(console, 'log', print);
  fixed(console, 'info', print);
  fixed(console, 'warn', print);
  fixed(console, 'error', print);
  fixed(console, 'debug', print);
  fixed(root, 'console', freeze(console));

  const call = (server, tool, values) => {
    const input = values.length === 0 ? create(null) : values[0];
    if (values.length > 1 || typeof input !== 'object' || input === null || isArray(input)) {
      throw new RealTypeError(`${server}.${tool} takes one object with named arguments; see help('${server}.${tool}')`);
    }
    const asked = stringify(input);
    if (typeof asked !== 'string') throw new RealTypeError('the arguments are not valid JSON');
    const reply = parse(native.call(server, tool, asked));
    switch (reply[0]) {
      case 'value': return reply[1];
      case 'denied': {
        const { message, decision, rule, reason, nextStep } = reply[1];
        const error = new Denied(message);
        fixed(error, 'decision', decision);
        fixed(error, 'rule', rule);
        fixed(error, 'reason', reason);
        fixed(error, 'nextStep', nextStep === null ? undefined : nextStep);
        throw error;
      }
      case 'failed': {
        const error = new ToolError(reply[1]);
        fixed(error, 'server', server);
        fixed(error, 'tool', tool);
        throw error;
      }
      case 'limit': throw new RealRangeError(reply[1]);
      default: throw new RealTypeError(reply[1]);
    }
  };

  // Whoever sets this is handed the functions on the stack, ours among them.
  fixed(RealError, 'prepareStackTrace', undefined);
  // What it throws is told, like the rejection of any promise.
  fixed(root, 'queueMicrotask', (job) => {
    (async () => { await undefined; job(); })();
  });
  fixed(root, 'help', (topic) => native.help(topic === undefined ? '' : text(topic)));
  fixed(root, 'Denied', Denied);
  fixed(root, 'ToolError', ToolError);

  // Called once, with what this script can reach.
  const begin = (catalogue, args) => {
    const servers = create(null);
    const offered = parse(catalogue);
    for (let n = 0; n < offered.length; n++) {
      const name = offered[n][0], tools = offered[n][1], server = create(null);
      for (let m = 0; m < tools.length; m++) {
        const tool = tools[m];
        const invoke = (...values) => call(name, tool, values);
        defineProperty(invoke, 'name', { value: tool });
        fixed(server, tool, freeze(invoke));
      }
      fixed(servers, name, freeze(server));
      if (apply(matches, IDENTIFIER, [name]) && !(name in root)) fixed(root, name, server);
    }
    fixed(root, 'servers', freeze(servers));
    fixed(root, 'args', freeze(parse(args)));
  };

  // Whether the engine collects its garbage when this much more is used. It does so when more is used
  // than half as much again as it found the last time, so that it does not if there was no room.
  const isCollectedAt = (size) => {
    const doomed = (() => { const it = create(null); it.it = it; return new RealWeakRef(it); })();
    const ballast = new RealArrayBuffer(size);
    // Making an object is what makes it look.
    create(null);
    return apply(deref, doomed, []) === undefined && ballast !== undefined;
  };

  return [begin, show, describe, isCollectedAt];
})
