'use strict';
// function commented() {}
/* class Commented {
} */
const fs = require('fs');
export const limit = 10;
export default class Store extends Base {
  #items = new Map();
  constructor(path) {
    super(path);
    if (path) {
      this.open(path);
    }
  }
  static async *all() {}
  get size() { return 1; }
  #hidden(a,
    b) {
    function inner() {}
  }
}
export async function load(path) {
  const helper = () => {};
  return helper(path);
}
function* generate() {}
const arrow = async (a) => a + 1;
const short = a => a;
let later = function () {};
exports.save = function save(x) {
  for (const y of x) {
  }
};
Store.prototype.close = () => {};
const text = `
class InText {
  method() {}
}
`;
const pattern = /[^/*]+/;
function afterPattern() {}
