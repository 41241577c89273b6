// Says so when the last try was wrong.
document.getElementById("wrong").hidden = !new URLSearchParams(location.search).has("wrong");
