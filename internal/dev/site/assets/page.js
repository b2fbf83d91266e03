(function () {
  "use strict";
  var input = document.getElementById("search");
  var results = document.getElementById("results");

  function find(query) {
    var words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    var found = [];
    searchIndex.forEach(function (e) {
      var heading = e.h.toLowerCase(), text = (e.p + " " + e.h + " " + e.t).toLowerCase(), score = 0;
      for (var i = 0; i < words.length; i++) {
        if (text.indexOf(words[i]) < 0) return;
        score += heading.indexOf(words[i]) >= 0 ? 10 : 1;
      }
      found.push({ entry: e, score: score });
    });
    found.sort(function (a, b) { return b.score - a.score; });
    return found.slice(0, 20);
  }

  function excerpt(text, word) {
    var at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
    return (at ? "…" : "") + text.slice(at, at + 180) + (at + 180 < text.length ? "…" : "");
  }

  function show(query) {
    results.textContent = "";
    var found = find(query);
    results.hidden = !query.trim();
    if (query.trim() && !found.length) {
      results.appendChild(document.createElement("li")).textContent = "Nothing found.";
    }
    var word = query.trim().toLowerCase().split(/\s+/)[0];
    found.forEach(function (f) {
      var item = results.appendChild(document.createElement("li"));
      var link = item.appendChild(document.createElement("a"));
      link.href = f.entry.f;
      link.textContent = f.entry.h;
      var where = item.appendChild(document.createElement("span"));
      where.className = "where";
      where.textContent = " " + f.entry.p;
      if (f.entry.t) item.appendChild(document.createElement("p")).textContent = excerpt(f.entry.t, word);
    });
  }

  input.addEventListener("input", function () { show(input.value); });
  results.addEventListener("click", function () { results.hidden = true; });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== input) { e.preventDefault(); input.focus(); }
    if (e.key === "Escape") { input.value = ""; show(""); }
  });
  var q = new URLSearchParams(location.search).get("q");
  if (q) { input.value = q; show(q); }
})();

// The menu folds on a phone, and the contents of a page are open where they have a column of their own.
(function () {
  "use strict";
  var menu = document.getElementById("menu"), contents = document.getElementById("contents");
  function fold(folded) { menu.setAttribute("aria-expanded", String(!folded)); }
  menu.hidden = false;
  fold(true);
  menu.addEventListener("click", function () { fold(menu.getAttribute("aria-expanded") === "true"); });
  if (contents) contents.open = window.matchMedia("(min-width: 80rem)").matches;
})();
